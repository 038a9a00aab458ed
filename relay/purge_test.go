package relay_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// applier takes control rows in, or does not.
type applier struct{ err error }

func (a *applier) Apply(context.Context, *store.Entry) error { return a.err }

// counted is a store that counts, or fails, what is to be erased.
type counted struct {
	*storetest.Fake
	calls  atomic.Int32
	broken atomic.Bool
}

func (c *counted) Erase(ctx context.Context, x store.Erasure, most int) (int, error) {
	c.calls.Add(1)
	if c.broken.Load() {
		return 0, errors.New("disk is broken")
	}
	return c.Fake.Erase(ctx, x, most)
}

// purged runs test with a purge over a fake store. apply tells the purge that a
// newest row was applied.
func purged(t *testing.T, test func(t *testing.T, s *counted, apply func() error, next *applier, begin func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, next := &counted{Fake: storetest.NewFake(time.Now)}, &applier{}
		controls, rebuild, run := relay.Purge(s, storetest.Key(9), next)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		begun := false
		test(t, s, func() error {
			rows, err := s.ReadControl(ctx, 0, 1000)
			require.NoError(t, err)
			return controls.Apply(ctx, &rows[len(rows)-1])
		}, next, func() {
			begun = true
			require.NoError(t, rebuild(ctx))
			go func() {
				defer close(done)
				run(ctx)
			}()
			synctest.Wait()
		})
		cancel()
		if begun {
			<-done
		}
	})
}

// vanish commits the row that erases what author number n has published.
func vanish(t *testing.T, s store.Store, n int) {
	t.Helper()
	commitRow(t, s, control.Row{Type: control.KeyVanished, Key: storetest.Key(n), Until: 1 << 40})
}

func commitRow(t *testing.T, s store.Store, row control.Row) {
	t.Helper()
	data, err := control.Encode(row)
	require.NoError(t, err)
	out := s.Append(t.Context(), []store.Write{{Controls: []store.Control{{Data: data}}}})
	require.NoError(t, out[0].Err)
}

func commit(t *testing.T, s store.Store, drafts ...storetest.Draft) {
	t.Helper()
	for _, d := range drafts {
		require.NoError(t, s.Append(t.Context(), []store.Write{{Event: d.Event()}})[0].Err)
	}
}

// left returns how many events are stored.
func left(t *testing.T, s store.Store) int {
	t.Helper()
	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	n, _, err := snap.Count(t.Context(), []*wire.Filter{wire.NewFilter(nostr.Filter{})}, 0, nil)
	require.NoError(t, err)
	require.NoError(t, snap.Close())
	return n
}

func TestWhatIsOutstandingIsErasedAtTheStart(t *testing.T) {
	t.Parallel()
	purged(t, func(t *testing.T, s *counted, _ func() error, _ *applier, begin func()) {
		commit(t, s, storetest.Draft{Key: 1, At: 1, Kind: 1}, storetest.Draft{Key: 2, At: 2, Kind: 1})
		commit(t, s, storetest.Draft{Key: 2, At: 3, Kind: 9, Tags: nostr.Tags{{"h", "pizza"}}})
		vanish(t, s, 1)
		commitRow(t, s, control.Row{Type: control.KeyBanned, Key: storetest.Key(2)})
		commitRow(t, s, control.Row{Type: control.GroupDeleted, Group: "pizza"})
		begin()
		require.Equal(t, 1, left(t, s), "a ban erases nothing")
		require.EqualValues(t, 2, s.calls.Load())
	})
}

// The rows are read once, for permissions and for this.
func TestAStartFindsWhatIsOutstanding(t *testing.T) {
	t.Parallel()
	s := storetest.NewFake(time.Now)
	vanish(t, s, 1)
	commitRow(t, s, control.Row{Type: control.KeyBanned, Key: storetest.Key(2)})
	vanish(t, s, 3)
	left, err := relay.Outstanding(t.Context(), s)
	require.NoError(t, err)
	require.Len(t, left, 2)
	require.Equal(t, storetest.Key(1), left[0].Author)
	require.Equal(t, storetest.Key(3), left[1].Author)
}

func TestWhatIsAppliedLaterIsErasedThen(t *testing.T) {
	t.Parallel()
	purged(t, func(t *testing.T, s *counted, apply func() error, next *applier, begin func()) {
		begin()
		commit(t, s, storetest.Draft{Key: 1, At: 1, Kind: 1})
		vanish(t, s, 1)
		next.err = errors.New("unknown row")
		require.ErrorIs(t, apply(), next.err)
		synctest.Wait()
		require.Equal(t, 1, left(t, s))
		next.err = nil
		require.NoError(t, apply())
		synctest.Wait()
		require.Zero(t, left(t, s))
		calls := s.calls.Load()
		commitRow(t, s, control.Row{Type: control.KeyBanned, Key: storetest.Key(2)})
		require.NoError(t, apply())
		synctest.Wait()
		require.Equal(t, calls, s.calls.Load(), "what is done is done")
	})
}

// Others write in between.
func TestErasingTakesItsTime(t *testing.T) {
	t.Parallel()
	purged(t, func(t *testing.T, s *counted, _ func() error, _ *applier, begin func()) {
		const events, chunk = 600, 256
		for n := range events {
			commit(t, s, storetest.Draft{Key: 1, At: int64(n), Kind: 1})
		}
		vanish(t, s, 1)
		begin()
		require.Equal(t, events-chunk, left(t, s))
		<-time.After(time.Second)
		require.Zero(t, left(t, s))
	})
}

func TestErasingIsTriedAgain(t *testing.T) {
	t.Parallel()
	purged(t, func(t *testing.T, s *counted, _ func() error, _ *applier, begin func()) {
		commit(t, s, storetest.Draft{Key: 1, At: 1, Kind: 1})
		vanish(t, s, 1)
		s.broken.Store(true)
		begin()
		<-time.After(time.Hour)
		require.Equal(t, 1, left(t, s))
		require.InDelta(t, 60, s.calls.Load(), 30, "about once a minute in the end")
		s.broken.Store(false)
		<-time.After(2 * time.Minute)
		require.Zero(t, left(t, s))
	})
}
