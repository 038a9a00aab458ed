package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/regress/cluster"
)

// Kinds of a load.
const (
	note      = 1
	fleeting  = 20001
	ending    = 1060 // of the last word, which every subscriber asks for as well
	lastKey   = 999
	publisher = 100 // number of the first publisher's key
)

var topics = []string{"a", "b", "c"}

// load is publishers and subscribers on every replica.
type load struct {
	t           *testing.T
	cluster     *cluster.Cluster
	ledger      *cluster.Ledger
	publishers  []*cluster.Publisher
	subscribers []*cluster.Subscriber
	gaps        []gap // what faults there were
	stall       cluster.Stall
}

// newLoad puts three publishers, one of them of ephemeral events, and three subscribers
// on each replica, and one who subscribes anew again and again.
func newLoad(t *testing.T, c *cluster.Cluster) *load {
	l := &load{t: t, cluster: c, ledger: cluster.NewLedger()}
	for _, r := range c.Replicas {
		for _, kind := range []int{note, note, fleeting} {
			l.publishers = append(l.publishers, &cluster.Publisher{
				Replica: r, Ledger: l.ledger, Key: publisher + len(l.publishers), Kind: kind, Topics: topics,
				Pace: size(15*time.Millisecond, 5*time.Millisecond),
			})
		}
		for _, f := range []nostr.Filter{
			{Kinds: []int{note, ending}},
			{Kinds: []int{note, fleeting, ending}, Tags: nostr.TagMap{"t": {topics[r.Number%len(topics)]}}},
			{Kinds: []int{fleeting, ending}},
		} {
			f.Limit = 1 << 30 // all that is stored
			l.subscribers = append(l.subscribers, cluster.NewSubscriber(r, f, 0))
		}
		some := nostr.Filter{Kinds: []int{note, ending}, Tags: nostr.TagMap{"t": {topics[(r.Number+1)%len(topics)]}}, Limit: 1 << 30}
		l.subscribers = append(l.subscribers, cluster.NewSubscriber(r, some, size(300*time.Millisecond, time.Second)))
	}
	return l
}

// silence has nobody publish on a replica: its own commits wake it, whatever it hears.
func (l *load) silence(r *cluster.Replica) {
	l.publishers = slices.DeleteFunc(l.publishers, func(p *cluster.Publisher) bool { return p.Replica == r })
}

// run publishes while during runs and everybody listens, has everybody end, and requires that nothing was lost
// and nothing came twice.
func (l *load) run(during func(ctx context.Context) error) *cluster.Verdict {
	l.t.Helper()
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	var stalls, listening, publishing errgroup.Group
	stalls.Go(func() error { return l.stall.Run(ctx) })
	for _, s := range l.subscribers {
		listening.Go(func() error { return s.Run(ctx) })
	}
	for _, s := range l.subscribers {
		select {
		case <-s.Live():
		case <-time.After(cluster.Patience):
			require.Fail(l.t, "a subscription is not live")
		}
	}
	acting, stop := context.WithCancel(ctx)
	for _, p := range l.publishers {
		publishing.Go(func() error { return p.Run(acting) })
	}
	err := during(ctx)
	stop()
	err = errors.Join(err, publishing.Wait(), l.lastWord(ctx))
	patience := time.AfterFunc(cluster.Patience, cancel)
	err = errors.Join(err, listening.Wait())
	patience.Stop()
	cancel()
	_ = stalls.Wait() // it has no errors
	log, reading := cluster.ReadLog(l.t.Context(), l.cluster.Database)
	require.NoError(l.t, errors.Join(err, reading))
	v := cluster.Check(log, l.ledger, l.subscribers)
	l.report(v, log)
	require.Empty(l.t, v.Violations)
	l.requireGaps()
	require.Positive(l.t, v.Elsewhere, "events crossed from one replica to another")
	return v
}

func (l *load) lastWord(ctx context.Context) error {
	tags := nostr.Tags{}
	for _, topic := range topics {
		tags = append(tags, nostr.Tag{"t", topic})
	}
	e, err := cluster.Event(lastKey, ending, cluster.LastWord, tags...)
	if err != nil {
		return err
	}
	p := &cluster.Publisher{Replica: l.cluster.Replicas[0], Ledger: l.ledger}
	return p.Publish(ctx, e)
}

func (l *load) report(v *cluster.Verdict, log *cluster.Log) {
	_, refused, cut := l.ledger.Counts()
	l.t.Logf("%d accepted, %d positions, %d lost or wrong; %d frames, %d live, %d of them from another replica; %d sessions, %d cut; refused %v, %d answers cut off; the test itself stood still for %s at most",
		v.Accepted, log.Head, len(v.Violations), v.Heard, v.HeardLive, v.Elsewhere, v.Sessions, v.Cut, refused, cut, seconds(l.stall.Longest))
}

// gap is a time in which one replica had a fault and the others had to go on.
type gap struct {
	how      string
	victim   int
	others   []int
	from, to time.Time
}

// goOn is how long others may take to go on when one replica has a fault (O19).
const goOn = 3 * time.Second

// requireGaps bounds the longest time without an acceptance on the others, while one
// replica had a fault. What the machine has held up this process itself is added.
func (l *load) requireGaps() {
	l.t.Helper()
	for _, g := range l.gaps {
		longest := l.ledger.Gap(g.from, g.to, g.others...)
		l.t.Logf("replica %d %s: the longest time without an acceptance on the others was %s of %s",
			g.victim, g.how, seconds(longest), seconds(g.to.Sub(g.from)))
		require.LessOrEqual(l.t, longest, goOn+l.stall.Longest)
	}
}

// others are the numbers of the replicas but one.
func (l *load) others(than int) (numbers []int) {
	for _, r := range l.cluster.Replicas {
		if r.Number != than {
			numbers = append(numbers, r.Number)
		}
	}
	return numbers
}

func name(replicas int) string { return fmt.Sprintf("%d replicas", replicas) }
