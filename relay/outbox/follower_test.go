package outbox_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/outbox"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// handles is an index that finds everybody. It does not look at events, so that
// what is delivered is the follower's choice.
type handles struct {
	mu  sync.Mutex // guards the field below where the follower runs by itself
	all []*lifecycle.Handle
}

func (x *handles) Candidates(dst []*lifecycle.Handle, _ *wire.Event) []*lifecycle.Handle {
	return x.All(dst)
}

func (x *handles) add(h *lifecycle.Handle) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all = append(x.all, h)
}

func (x *handles) All(dst []*lifecycle.Handle) []*lifecycle.Handle {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append(dst, x.all...)
}

func (x *handles) Remove(h *lifecycle.Handle) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	before := len(x.all)
	x.all = slices.DeleteFunc(x.all, func(other *lifecycle.Handle) bool { return other == h })
	return len(x.all) < before
}

// counts is what the follower reported.
type counts struct {
	begun, applied, stale, slow uint64

	letters []string
}

func (c *counts) Position(begun, applied uint64) { c.begun, c.applied = begun, applied }
func (c *counts) FrameDropped(string)            { c.stale++ }
func (c *counts) SubscriptionEnded(string)       { c.slow++ }
func (c *counts) DeadLetter(class string)        { c.letters = append(c.letters, class) }

// spoilt is a log whose reads fail while it is told so, whose wake-ups can get lost,
// and some of whose rows cannot be read.
type spoilt struct {
	*storetest.Fake
	broken  sync.Map // position -> why its row cannot be read
	failing atomic.Bool
	reads   atomic.Int32
	deaf    bool
}

var errDisk = errors.New("disk is broken")

func (l *spoilt) ReadLog(ctx context.Context, after store.Position, limit int) ([]store.Entry, error) {
	l.reads.Add(1)
	if l.failing.Load() {
		return nil, errDisk
	}
	rows, err := l.Fake.ReadLog(ctx, after, limit)
	for i := range rows {
		if why, broken := l.broken.Load(rows[i].Position); broken {
			rows[i] = unreadable(rows[i], why.(error))
		}
	}
	return rows, err
}

func (l *spoilt) Changed() <-chan struct{} {
	if l.deaf {
		return nil
	}
	return l.Fake.Changed()
}

// policy says who may see an event, and takes control rows in.
type policy struct {
	sight func(ev *wire.Event) lifecycle.Sight // nil: everybody may see everything
	asked int                                  // calls of Sight

	apply   func(e *store.Entry) error // nil: nothing happens
	applied []store.Position           // of the rows that were taken in
}

func (p *policy) Sight(ev *wire.Event) lifecycle.Sight {
	p.asked++
	if p.sight == nil {
		return lifecycle.Sight{}
	}
	return p.sight(ev)
}

func (p *policy) Apply(_ context.Context, e *store.Entry) error {
	if p.apply != nil {
		if err := p.apply(e); err != nil {
			return err
		}
	}
	p.applied = append(p.applied, e.Position)
	return nil
}

// world is one follower over a fake store.
type world struct {
	*outbox.Follower
	log    *spoilt
	index  *handles
	policy *policy
	counts *counts
	conn   *lifecycle.Conn

	letters    *letters
	distrusted int // calls of Distrust
}

// Distrust implements outbox.Readers.
func (w *world) Distrust() { w.distrusted++ }

// in runs test in a bubble of its own.
func in(t *testing.T, start store.Position, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			log: &spoilt{Fake: storetest.NewFake(time.Now)}, index: &handles{}, policy: &policy{}, counts: &counts{},
			letters: &letters{kept: map[store.Position]store.DeadLetter{}},
		}
		w.Follower = outbox.New(outbox.Options{
			Log: w.log, Index: w.index, Access: w.policy, Controls: w.policy, Metrics: w.counts,
			Now: time.Now, Logger: slog.New(slog.DiscardHandler), Start: start,
			Letters: w.letters, Readers: w, Replica: "r1", MaxLag: 5 * time.Second,
		})
		w.conn = lifecycle.NewConn(t.Context(), lifecycle.Options{ID: 1, Sight: func(ev *wire.Event) lifecycle.Sight { return w.policy.Sight(ev) }, Limits: lifecycle.Limits{
			QueueFrames: 16, QueueBytes: 1 << 20, HoldFrames: 4, HoldBytes: 1 << 16, Subscriptions: 4, Weight: 1 << 16, Queries: 1,
			Pending: 1, PendingBytes: 1, RoomTimeout: time.Second,
		}})
		test(t, w)
		w.conn.Finish()
	})
}

// subscribe makes a live subscription for one kind.
func (w *world) subscribe(t *testing.T, id string, kind int) *lifecycle.Handle {
	t.Helper()
	return w.filter(t, id, wire.NewFilter(nostr.Filter{Kinds: []int{kind}}))
}

// take returns the content of each EVENT, and the verb of anything else.
func (w *world) take(t *testing.T) (out []string) {
	t.Helper()
	frames, _ := w.conn.Take(nil, 1<<20)
	for _, f := range frames {
		m, err := wire.DecodeRelay(f.AppendTo(nil))
		require.NoError(t, err)
		if m.Event != nil {
			out = append(out, m.Event.Content)
			continue
		}
		out = append(out, m.Verb)
	}
	return out
}

func (w *world) commit(t *testing.T, drafts ...storetest.Draft) {
	t.Helper()
	for _, d := range drafts {
		require.NoError(t, w.log.Append(t.Context(), []store.Write{{Event: d.Event()}})[0].Err)
	}
}

func (w *world) step(t *testing.T) int {
	t.Helper()
	n, err := w.Step(t.Context())
	require.NoError(t, err)
	return n
}

// note is event n of a kind.
func note(n, kind int, tags ...nostr.Tag) storetest.Draft {
	return storetest.Draft{Key: 1, At: int64(1000 + n), Kind: kind, Content: strconv.Itoa(n), Tags: tags}
}

// run starts Run and returns what stops it and waits for it.
func (w *world) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	synctest.Wait()
	return func() {
		cancel()
		<-done
	}
}

// after waits until d has passed and everything is done that was due then.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestStepAppliesEachRowOnceInOrder(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "x", 1)
		w.commit(t, note(3, 1), note(1, 1), note(5, 2), note(2, 1))
		require.Equal(t, 4, w.step(t))
		require.EqualValues(t, 4, w.Begun())
		require.EqualValues(t, 4, w.Applied())
		require.Equal(t, counts{begun: 4, applied: 4}, *w.counts)
		require.Zero(t, w.step(t))
		require.Equal(t, []string{"3", "1", "2"}, w.take(t))
	})
}

func TestFollowerBeginsWhereItIsTold(t *testing.T) {
	t.Parallel()
	in(t, 2, func(t *testing.T, w *world) {
		require.EqualValues(t, 2, w.Begun())
		w.commit(t, note(1, 1), note(2, 1), note(3, 1))
		require.Equal(t, 1, w.step(t))
		require.EqualValues(t, 3, w.Applied())
	})
}

func TestWhatIsFannedOut(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "regular", 1)
		w.subscribe(t, "ephemeral", 20001)
		target := note(2, 1).Event()
		w.commit(t, note(1, 20001), note(2, 1), note(3, 1, nostr.Tag{"expiration", strconv.FormatInt(time.Now().Unix()+1, 10)}))
		w.commit(t, storetest.Draft{Key: 1, At: 5000, Kind: 5, Tags: nostr.Tags{{"e", target.ID}}})
		after(2 * time.Second)
		w.commit(t, note(4, 1))
		require.Positive(t, w.step(t))
		require.Equal(t, []string{"1", "4"}, w.take(t), "what was removed or has expired is not")
		require.Equal(t, w.Begun(), w.Applied())
	})
}

func TestSubscriptionThatOverflowedLeavesTheIndex(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		slow := w.subscribe(t, "slow", 1)
		other := w.subscribe(t, "other", 2)
		for n := range 20 {
			w.commit(t, note(n, 1))
		}
		w.step(t)
		require.False(t, slow.Current())
		require.Equal(t, []*lifecycle.Handle{other}, w.index.all)
		require.EqualValues(t, 1, w.counts.slow)
		require.Equal(t, []string{"CLOSED"}, w.take(t))
	})
}

func TestRetiredCandidatesAreCounted(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "x", 1)
		w.conn.Release("x") // and not yet taken out of the index
		w.commit(t, note(1, 1))
		w.step(t)
		require.EqualValues(t, 1, w.counts.stale)
		require.Empty(t, w.take(t))
	})
}

func TestRunWakesUpAtOnce(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		defer w.run(t)()
		w.commit(t, note(1, 1))
		synctest.Wait()
		require.EqualValues(t, 1, w.Applied())
	})
}

func TestLostWakeUpDelaysAndDropsNothing(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "x", 1)
		w.log.deaf = true
		defer w.run(t)()
		w.commit(t, note(1, 1), note(2, 1))
		synctest.Wait()
		require.Zero(t, w.Applied())
		after(time.Second)
		require.EqualValues(t, 2, w.Applied())
		require.Equal(t, []string{"1", "2"}, w.take(t))
		before := w.log.reads.Load()
		after(time.Minute)
		require.InDelta(t, 60, w.log.reads.Load()-before, 2, "an idle follower polls once a second")
	})
}

func TestBrokenLogIsRetriedAndNothingIsSkipped(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "x", 1)
		w.log.failing.Store(true)
		defer w.run(t)()
		w.commit(t, note(1, 1), note(2, 1))
		after(time.Second)
		require.True(t, w.Failing())
		first := w.log.reads.Load()
		require.Greater(t, first, int32(2), "at first it is retried quickly")
		after(10 * time.Minute)
		require.Less(t, w.log.reads.Load()-first, int32(600), "later it is not")

		w.log.failing.Store(false)
		after(10 * time.Second)
		require.False(t, w.Failing())
		require.Equal(t, []string{"1", "2"}, w.take(t))
	})
}

func TestRunEndsWithItsContextWhileTheLogIsBroken(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.log.failing.Store(true)
		stop := w.run(t)
		after(time.Minute)
		begin := time.Now()
		stop()
		require.Equal(t, begin, time.Now(), "it does not wait for its back-off to end")
	})
}

// O18: what the log holds is known as of the last read that reached its end.
func TestConfirmedIsWhenTheEndOfTheLogWasLastSeen(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		begin := time.Now()
		require.Equal(t, begin, w.Confirmed())
		stop := w.run(t)
		defer stop()
		after(time.Minute)
		require.WithinDuration(t, time.Now(), w.Confirmed(), time.Second)
		w.log.failing.Store(true)
		broken := time.Now()
		after(time.Minute)
		require.WithinDuration(t, broken, w.Confirmed(), time.Second)
		w.log.failing.Store(false)
		after(10 * time.Second)
		require.WithinDuration(t, time.Now(), w.Confirmed(), time.Second)
	})
}

func TestAFullBatchConfirmsNothing(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		begin := time.Now()
		for n := range 257 {
			w.commit(t, note(n, 1))
		}
		after(time.Second)
		require.Equal(t, 256, w.step(t))
		require.Equal(t, begin, w.Confirmed())
		require.Equal(t, 1, w.step(t))
		require.Equal(t, begin.Add(time.Second), w.Confirmed())
	})
}
