package storm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/relay/client"
	"fencepost/relay/config"
	"fencepost/relay/wire"
)

// patience is how long anything may take that must come.
const patience = 60 * time.Second

// size says how much there is in a town.
type size struct {
	groups    int
	movers    int           // readers who join, leave, are removed and are banned
	strangers int           // readers who never authenticate
	residents int           // readers who are members of all groups for the whole storm
	pace      time.Duration // between two events of a publisher
}

// The small one is for slow machines: most of what happens in it are changes of
// permissions, and they hit who reads.
var (
	large = size{groups: 4, movers: 8, strangers: 2, residents: 2, pace: 4 * time.Millisecond}
	small = size{groups: 2, movers: 4, strangers: 1, residents: 1, pace: 15 * time.Millisecond}
)

// host is the relay under test, or some replicas of it.
type host struct {
	urls   []string
	self   string        // the relay's public key
	config config.Config // leads to the store
	walled bool          // it serves and hears members only
	grace  time.Duration // how long the last event may take

	manage func(ctx context.Context, method string, of any) error // NIP-86, with one parameter
	level  func(ctx context.Context) error                        // waits until all replicas have applied what there is; nil for one relay
	stop   func()                                                 // returns when the store is closed
}

// url is where actor number n of some kind goes.
func (h *host) url(n int) string { return h.urls[n%len(h.urls)] }

// lags reports whether what was granted may not be in force yet where somebody else
// asks.
func (h *host) lags() bool { return len(h.urls) > 1 }

// town is one storm of permissions: groups, those who moderate them, those who
// publish and those who read.
type town struct {
	host   *host
	size   size
	ledger *ledger
	groups []string

	admins    []string // secret keys, one a group
	writers   []string // secret keys of publishers, members of all groups
	moving    []*reader
	residents []*reader

	seed     uint64
	operated int        // what the operator has done
	random   *rand.Rand // for what is set up
	last     []string   // ids of the last words; set before nothing is published any more
}

func newTown(h *host, of size, seed uint64) *town {
	w := &town{host: h, size: of, ledger: newLedger(), seed: seed, random: rand.New(rand.NewPCG(seed, 0))}
	for i := range of.groups {
		w.groups = append(w.groups, fmt.Sprintf("g%d-%d", seed, i))
		w.admins = append(w.admins, nostr.GeneratePrivateKey())
	}
	w.writers = []string{nostr.GeneratePrivateKey(), nostr.GeneratePrivateKey()}
	reader := func(name string, n int, secret string) *reader {
		return &reader{
			town: w, name: fmt.Sprintf("%s %d", name, n), secret: secret, url: h.url(n),
			random: rand.New(rand.NewPCG(seed, uint64(len(w.moving)+len(w.residents)+1))),
		}
	}
	for i := range of.movers {
		w.moving = append(w.moving, reader("mover", i, nostr.GeneratePrivateKey()))
	}
	for i := range of.strangers {
		w.moving = append(w.moving, reader("stranger", i, ""))
	}
	for i := range of.residents {
		w.residents = append(w.residents, reader("resident", i, nostr.GeneratePrivateKey()))
	}
	return w
}

// event makes a signed event of now.
func (w *town) event(secret string, kind int, content string, tags ...nostr.Tag) *wire.Event {
	e := nostr.Event{Kind: kind, CreatedAt: nostr.Now(), Content: content, Tags: tags}
	if err := e.Sign(secret); err != nil {
		panic(err) // only for a key that is none
	}
	return wire.NewEvent(e)
}

func public(secret string) string {
	key, err := nostr.GetPublicKey(secret)
	if err != nil {
		panic(err) // only for a key that is none
	}
	return key
}

// found makes the groups, every second one private, with publishers, residents
// and half of the movers in them.
func (w *town) found(ctx context.Context) error {
	if err := w.admit(ctx); err != nil {
		return err
	}
	for i, g := range w.groups {
		err := w.with(ctx, i, w.admins[i], func(conn *client.Client) error {
			members := nostr.Tags{{"h", g}}
			for _, s := range w.writers {
				members = append(members, nostr.Tag{"p", public(s)})
			}
			for n, r := range w.people() {
				if n < w.size.residents || w.random.IntN(2) == 0 {
					members = append(members, nostr.Tag{"p", public(r.secret)})
				}
			}
			tags := nostr.Tags{{"h", g}, {"closed"}}
			if i%2 == 0 {
				tags = append(tags, nostr.Tag{"private"})
			}
			w.ledger.putCode(g, g+"-0")
			return errors.Join(
				insist(ctx, conn, w.event(w.admins[i], 9007, g, tags...)),
				insist(ctx, conn, w.event(w.admins[i], 9000, g, members...)),
				insist(ctx, conn, w.event(w.admins[i], 9009, g, nostr.Tag{"h", g}, nostr.Tag{"code", g + "-0"})),
			)
		})
		if err != nil {
			return fmt.Errorf("found %s: %w", g, err)
		}
	}
	return nil
}

// people are the readers who have a key, residents first.
func (w *town) people() []*reader { return slices.Concat(w.residents, w.moving[:w.size.movers]) }

// admit makes everybody who has a key a member of a relay that needs it.
func (w *town) admit(ctx context.Context) error {
	if !w.host.walled {
		return nil
	}
	secrets := slices.Concat(w.admins, w.writers)
	for _, r := range w.people() {
		secrets = append(secrets, r.secret)
	}
	for _, s := range secrets {
		if err := w.manage(ctx, "allowpubkey", public(s)); err != nil {
			return err
		}
	}
	return nil
}

// insist publishes an event until it is accepted: a relay that makes mistakes may
// be late to see that there is the group.
func insist(ctx context.Context, conn *client.Client, e *wire.Event) (err error) {
	for late := time.Now().Add(patience); time.Now().Before(late); {
		if err = conn.Publish(ctx, e); err == nil {
			return nil
		}
		if waiting := pause(ctx, 10*time.Millisecond); waiting != nil {
			return waiting
		}
	}
	return err
}

// with runs act on a connection of its own, where actor number n goes. Whatever the
// relay says beside OKs is dropped.
func (w *town) with(ctx context.Context, n int, secret string, act func(*client.Client) error) error {
	conn, err := client.Dial(ctx, w.host.url(n), client.Options{})
	if err != nil {
		return err
	}
	if _, err = conn.Next(ctx); err == nil { // the challenge
		err = conn.Authenticate(ctx, secret)
	}
	if err == nil {
		err = act(conn)
	}
	return errors.Join(err, conn.Close())
}

// storm has everybody act until the time is up, and returns when all have ended.
func (w *town) storm(t *testing.T, length time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	require.NoError(t, w.found(ctx))
	if w.host.level != nil {
		require.NoError(t, w.host.level(ctx))
	}
	for _, r := range w.residents {
		require.NoError(t, r.settleDown(ctx))
	}
	until := time.Now().Add(length)
	var reading, acting errgroup.Group
	quiet := make(chan struct{}) // closed when nothing is published any more
	for _, r := range w.residents {
		reading.Go(func() error { return r.stay(ctx, quiet) })
	}
	for _, r := range w.moving {
		acting.Go(func() error { return r.run(ctx, until) })
	}
	for i := range w.groups {
		acting.Go(func() error { return w.moderate(ctx, i, until) })
	}
	for i := range w.writers {
		acting.Go(func() error { return w.publish(ctx, i, until) })
	}
	acting.Go(func() error { return w.operate(ctx, until) })
	err := acting.Wait()
	if err == nil {
		err = w.lastWords(ctx)
	}
	close(quiet)
	require.NoError(t, errors.Join(err, reading.Wait()))
}

// pause waits for a while.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
