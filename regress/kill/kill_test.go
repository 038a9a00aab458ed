package kill_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

var rounds = flag.Int("kill.rounds", 8, "how often the relay is killed while events are published")

const (
	publishers = 20
	// versioned is the kind of the addressable event that each publisher renews.
	versioned = 30078
	// asked is how many ids one REQ asks for.
	asked = 400
)

// acknowledged is what the relay has answered with OK true.
type acknowledged struct {
	mu       sync.Mutex // guards the fields below
	ids      []string
	versions [publishers]int // number of the last version
	left     int             // acknowledgements until the relay is killed
	enough   chan struct{}   // closed when left reaches 0
}

func (a *acknowledged) note(publisher int, e *wire.Event, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.Kind == versioned {
		a.versions[publisher] = n
	} else {
		a.ids = append(a.ids, e.ID)
	}
	if a.left--; a.left == 0 {
		close(a.enough)
	}
}

// TestNoAcknowledgedEventIsLostByKill kills the relay with SIGKILL while 20
// connections publish, and asks the next process for everything that was
// acknowledged.
func TestNoAcknowledgedEventIsLostByKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds a round: -short is set")
	}
	random := rand.New(rand.NewPCG(1, 2))
	data := filepath.Join(t.TempDir(), "data")
	p := start(t, data)
	var all []string
	total := &acknowledged{}
	for round := range *rounds {
		total.left, total.enough, total.ids = 30+random.IntN(400), make(chan struct{}), nil
		publishUntilKilled(t, p, round, total)
		require.Equal(t, -1, p.end(t))
		p = start(t, data)
		c := p.dial(t)
		requireStored(t, c, total.ids, "round %d", round)
		requireVersions(t, c, total)
		require.NoError(t, c.Close())
		all = append(all, total.ids...)
	}
	requireStored(t, p.dial(t), all, "all rounds")
	t.Logf("%d rounds, %d events acknowledged, 0 lost", *rounds, len(all))
}

// publishUntilKilled returns when the process was killed and all publishers
// noticed.
func publishUntilKilled(t *testing.T, p *process, round int, a *acknowledged) {
	t.Helper()
	var group sync.WaitGroup
	for i := range publishers {
		c := p.dial(t)
		group.Go(func() {
			publish(t, c, i, round, a)
			_ = c.Close() // its peer is dead
		})
	}
	ended := make(chan struct{})
	go func() { defer close(ended); group.Wait() }()
	select {
	case <-a.enough:
	case <-ended:
		require.Fail(t, "every publisher gave up before the kill", p.logged())
	}
	p.signal(t, syscall.SIGKILL)
	<-ended
}

// publish sends events one after another until the connection ends. Every fifth
// is a new version of the publisher's addressable event.
func publish(t testing.TB, c *client.Client, publisher, round int, a *acknowledged) {
	for n := 1; ; n++ {
		number := round*100_000 + n
		e := event(t, publisher+1, 1, fmt.Sprintf("round %d, publisher %d, event %d", round, publisher, n))
		if n%5 == 0 {
			e = version(t, publisher, number)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := c.Publish(ctx, e)
		cancel()
		if err != nil {
			return
		}
		a.note(publisher, e, number)
	}
}

// version makes a version whose created_at is its number.
func version(t testing.TB, publisher, number int) *wire.Event {
	t.Helper()
	e := nostr.Event{
		Kind: versioned, CreatedAt: nostr.Timestamp(1_700_000_000 + number),
		Tags: nostr.Tags{{"d", "kill"}}, Content: strconv.Itoa(number),
	}
	require.NoError(t, e.Sign(fmt.Sprintf("%064x", publisher+1)))
	return wire.NewEvent(e)
}

func requireStored(t *testing.T, c *client.Client, ids []string, message ...any) {
	t.Helper()
	have := make(map[string]bool)
	for rest := ids; len(rest) > 0; {
		n := min(len(rest), asked)
		for _, e := range stored(t, c, nostr.Filter{IDs: rest[:n], Limit: n}) {
			require.NoError(t, e.Verify())
			have[e.ID] = true
		}
		rest = rest[n:]
	}
	for _, id := range ids {
		require.True(t, have[id], message...)
	}
}

// requireVersions checks that each stored version is the last acknowledged one
// or a later one that was stored and not yet acknowledged.
func requireVersions(t *testing.T, c *client.Client, a *acknowledged) {
	t.Helper()
	have := make(map[string]int)
	for _, e := range stored(t, c, nostr.Filter{Kinds: []int{versioned}, Limit: 2 * publishers}) {
		n, err := strconv.Atoi(e.Content)
		require.NoError(t, err)
		require.Zero(t, have[e.PubKey], "one version of an address")
		have[e.PubKey] = n
	}
	for i, last := range a.versions {
		key, err := nostr.GetPublicKey(fmt.Sprintf("%064x", i+1))
		require.NoError(t, err)
		require.GreaterOrEqual(t, have[key], last, "publisher %d", i)
	}
}
