package embedded_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// slowDisk parks the syncs of the write-ahead log while it is armed.
type slowDisk struct {
	vfs.FS
	armed   atomic.Bool
	syncs   atomic.Int64 // syncs of the log so far
	parked  chan struct{}
	release chan struct{}
}

func newSlowDisk() *slowDisk {
	d := &slowDisk{parked: make(chan struct{}), release: make(chan struct{})}
	d.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(d.see))
	return d
}

func (d *slowDisk) see(op errorfs.Op) error {
	if !strings.HasSuffix(op.Path, ".log") || op.Kind != errorfs.OpFileSync && op.Kind != errorfs.OpFileSyncData {
		return nil
	}
	d.syncs.Add(1)
	if d.armed.CompareAndSwap(true, false) {
		d.parked <- struct{}{}
		<-d.release
	}
	return nil
}

func TestAppendsShareACommit(t *testing.T) {
	t.Parallel()
	d := newSlowDisk()
	s := openFS(t, d)
	before := d.syncs.Load()
	d.armed.Store(true)
	var callers sync.WaitGroup
	var outcomes [21]store.Outcome
	call := func(i int) { callers.Go(func() { outcomes[i] = appendOne(s, note(i)) }) }
	call(0)
	<-d.parked
	require.Empty(t, storedIDs(t, s), "what is not durable is not visible")
	require.Empty(t, readLog(t, s))
	for i := 1; i < len(outcomes); i++ {
		call(i)
	}
	require.Eventually(t, func() bool { return embedded.Waiting(s) == 20 }, waitAtMost, waitStep)
	d.release <- struct{}{}
	callers.Wait()
	require.Equal(t, before+2, d.syncs.Load())
	for _, o := range outcomes {
		require.NoError(t, o.Err)
	}
	require.Len(t, readLog(t, s), 21)
	require.NoError(t, s.Close())
}

func TestWithdrawnAppendIsNotStored(t *testing.T) {
	t.Parallel()
	d := newSlowDisk()
	s := openFS(t, d)
	d.armed.Store(true)
	var callers sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	var taken, waiting store.Outcome
	callers.Go(func() { taken = s.Append(ctx, []store.Write{{Event: note(1)}})[0] })
	<-d.parked
	callers.Go(func() { waiting = s.Append(ctx, []store.Write{{Event: note(2)}})[0] })
	require.Eventually(t, func() bool { return embedded.Waiting(s) == 1 }, waitAtMost, waitStep)
	cancel()
	require.Eventually(t, func() bool { return embedded.Waiting(s) == 0 }, waitAtMost, waitStep)
	d.release <- struct{}{}
	callers.Wait()
	require.ErrorIs(t, waiting.Err, context.Canceled)
	require.Equal(t, store.Outcome{Position: 1, Last: 1}, taken, "what the writer took gets its outcome")
	require.Equal(t, []string{note(1).ID}, storedIDs(t, s))
	require.NoError(t, s.Close())
}

func TestFullQueueBlocksUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	d := newSlowDisk()
	s := openFS(t, d)
	d.armed.Store(true)
	var callers sync.WaitGroup
	callers.Go(func() { appendOne(s, note(0)) })
	<-d.parked
	large := func(i int) *wire.Event {
		return storetest.Draft{Kind: 1, At: int64(i), Content: strings.Repeat("x", embedded.QueueBytes/8)}.Event()
	}
	for i := range 6 {
		callers.Go(func() { appendOne(s, large(i)) })
	}
	// Twice its length is what a decoded event takes: four fill the queue.
	require.Eventually(t, func() bool { return embedded.Waiting(s) == 4 }, waitAtMost, waitStep)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Append(ctx, []store.Write{{Event: note(1)}})[0].Err, context.Canceled)
	d.release <- struct{}{}
	callers.Wait()
	require.Len(t, readLog(t, s), 7)
	require.NoError(t, s.Close())
}

// Pebble takes a batch of this size by another path.
func TestOneCallLargerThanTheQueue(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	s := openFS(t, fs)
	var writes []store.Write
	for i := range 500 {
		e := storetest.Draft{Kind: 1, At: int64(i), Content: strings.Repeat("x", 64<<10)}.Event()
		writes = append(writes, store.Write{Event: e})
	}
	for i, o := range s.Append(background, writes) {
		require.Equal(t, store.Outcome{Position: store.Position(i + 1), Last: store.Position(i + 1)}, o)
	}
	require.Len(t, storedIDs(t, s), 500)
	require.NoError(t, s.Close())
	s = openFS(t, fs)
	require.Len(t, readLog(t, s), 500)
	require.NoError(t, s.Close())
}

func TestCloseAnswersWhatWaits(t *testing.T) {
	t.Parallel()
	d := newSlowDisk()
	s := openFS(t, d)
	d.armed.Store(true)
	var callers sync.WaitGroup
	var outcomes [2]store.Outcome
	callers.Go(func() { outcomes[0] = appendOne(s, note(0)) })
	<-d.parked
	callers.Go(func() { outcomes[1] = appendOne(s, note(1)) })
	require.Eventually(t, func() bool { return embedded.Waiting(s) == 1 }, waitAtMost, waitStep)
	callers.Go(func() { require.NoError(t, s.Close()) })
	d.release <- struct{}{}
	callers.Wait()
	require.Equal(t, [2]store.Outcome{{Position: 1, Last: 1}, {Position: 2, Last: 2}}, outcomes)
	require.ErrorIs(t, appendOne(s, note(2)).Err, store.ErrClosed)
}

func TestCloseEndsQueriesThatRun(t *testing.T) {
	t.Parallel()
	s := openFS(t, vfs.NewMem())
	fill(t, s, crowd(2000))
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				snap, err := s.Snapshot(background)
				if err == nil {
					_, err = query(snap, nostr.Filter{Kinds: []int{1}}, nostr.Filter{Tags: nostr.TagMap{"t": {"v1"}}})
					err = errors.Join(err, snap.Close())
				}
				if err != nil {
					require.ErrorIs(t, err, store.ErrClosed)
					return
				}
			}
		})
	}
	put(t, s, note(1))
	require.NoError(t, s.Close())
	readers.Wait()
}
