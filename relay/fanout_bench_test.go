package relay_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/registry"
	"fencepost/registry/index"
	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/access/group"
	"fencepost/relay/metrics"
	"fencepost/relay/outbox"
	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

const (
	candidates  = 2_000
	manyMembers = 10_000
)

// countingStore is a store that counts what is asked of it. Reading the log, which brings
// the events, is counted apart.
type countingStore struct {
	store.Store

	logs, others atomic.Int64
}

func (c *countingStore) ReadLog(ctx context.Context, after store.Position, max int) ([]store.Entry, error) {
	c.logs.Add(1)
	return c.Store.ReadLog(ctx, after, max)
}

func (c *countingStore) ReadControl(ctx context.Context, after store.Position, max int) ([]store.Entry, error) {
	c.others.Add(1)
	return c.Store.ReadControl(ctx, after, max)
}

func (c *countingStore) Snapshot(ctx context.Context) (store.Snapshot, error) {
	c.others.Add(1)
	return c.Store.Snapshot(ctx)
}

func (c *countingStore) Log(ctx context.Context) (store.LogInfo, error) {
	c.others.Add(1)
	return c.Store.Log(ctx)
}

func (c *countingStore) Append(ctx context.Context, writes []store.Write) []store.Outcome {
	c.others.Add(1)
	return c.Store.Append(ctx, writes)
}

// fanout is the embedded store, permissions and a follower, with candidates
// connections that subscribe to kind 9.
type fanout struct {
	store    *countingStore
	follower *outbox.Follower
	conns    []*lifecycle.Conn
}

// newFanout makes a fan-out over a store with these control rows.
func newFanout(b *testing.B, rows ...control.Row) *fanout {
	s, err := embedded.Open(b.TempDir(), embedded.Options{Now: time.Now, CacheBytes: 64 << 20, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	f := &fanout{store: &countingStore{Store: s}}
	stored := func(ctx context.Context) { // what a decision about writing looks up
		snap, err := f.store.Snapshot(ctx)
		require.NoError(b, err)
		require.NoError(b, snap.Close())
	}
	book, err := group.New(group.Options{
		Self: numbered(0), Sign: func(*nostr.Event) error { return nil }, Now: time.Now, Rules: group.Rules{Create: group.CreateAnyone},
		Find:     func(ctx context.Context, _ string) (*wire.Event, bool, error) { stored(ctx); return nil, false, nil },
		Prefixed: func(ctx context.Context, _ string) ([]*wire.Event, error) { stored(ctx); return nil, nil },
	})
	require.NoError(b, err)
	policy := access.New(access.Options{Self: numbered(0), Sign: func(*nostr.Event) error { return nil }, Groups: book})
	var none *metrics.Metrics // counts nothing
	handles := index.New()
	cutter := access.NewCutter(access.CutterOptions{Policy: policy, Connections: registry.New(), Index: handles, Metrics: none})
	f.follower = outbox.New(outbox.Options{
		Log: f.store, Index: handles, Access: policy, Controls: cutter, Metrics: none, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	f.append(b, rows)
	f.step(b)
	f.subscribe(b, handles, policy)
	return f
}

func numbered(i int) string { return fmt.Sprintf("%064x", i) }

func (f *fanout) append(b *testing.B, rows []control.Row) {
	w := store.Write{}
	for _, row := range rows {
		data, err := control.Encode(row)
		require.NoError(b, err)
		w.Controls = append(w.Controls, store.Control{Data: data})
	}
	if len(rows) > 0 {
		require.NoError(b, f.store.Append(b.Context(), []store.Write{w})[0].Err)
	}
}

// subscribe opens a connection for each of the first members, or for as many keys.
func (f *fanout) subscribe(b *testing.B, handles *index.Index, policy *access.Policy) {
	filters := []*wire.Filter{wire.NewFilter(nostr.Filter{Kinds: []int{9}})}
	for i := range candidates {
		c := lifecycle.NewConn(b.Context(), lifecycle.Options{ID: uint64(i), Sight: policy.Sight, Limits: lifecycle.Limits{
			QueueFrames: 1 << 10, QueueBytes: 1 << 20, HoldFrames: 1, HoldBytes: 1, Subscriptions: 1, Weight: 10, Queries: 1,
			Pending: 1, PendingBytes: 1, RoomTimeout: time.Second,
		}})
		c.AddKey(numbered(i + 1))
		h, _, err := c.Reserve(b.Context(), "x", filters)
		require.NoError(b, err)
		handles.Add(h)
		h.Begin(f.follower.Begun())
		_, err = h.GoLive(wire.HintFinish)
		require.NoError(b, err)
		f.conns = append(f.conns, c)
	}
	f.drain(b)
}

// step has the follower apply all that is committed.
func (f *fanout) step(b *testing.B) {
	for {
		n, err := f.follower.Step(b.Context())
		require.NoError(b, err)
		if n == 0 {
			return
		}
	}
}

// drain empties the queues, as the writers do, and says how much there was.
func (f *fanout) drain(b *testing.B) (frames int) {
	var batch []lifecycle.Frame
	for _, c := range f.conns {
		batch, _ = c.Take(batch[:0], 1<<30)
		frames += len(batch)
	}
	return frames
}

// members puts that many keys into the group pizza, the candidates' first.
func members(tags ...nostr.Tag) []control.Row {
	rows := []control.Row{{Type: control.GroupCreated, Group: "pizza", Key: numbered(1), Tags: tags, Stamp: 1}}
	for i := 1; i < manyMembers; i++ {
		rows = append(rows, control.Row{Type: control.GroupPut, Group: "pizza", Key: numbered(i + 1), Stamp: 1})
	}
	return rows
}

// BenchmarkFanout is what one candidate costs of 2,000 for whom an event is, from
// the embedded store to the queue, with the real permissions. calls/event counts
// what the store is asked besides the rows of its log.
func BenchmarkFanout(b *testing.B) {
	const batch = 64 // events that are read at once
	private := members(nostr.Tag{"private"})
	serial := int64(0)
	for _, bench := range []struct {
		name  string
		rows  []control.Row
		group string // "" is none
	}{
		{"no groups", nil, ""},
		{"public event beside a private group", private, ""},
		{"event of a public group", members(), "pizza"},
		{"event of a private group of 10000", private, "pizza"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			f := newFanout(b, bench.rows...)
			var spent time.Duration
			events, logs, others := 0, int64(0), int64(0)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				var writes []store.Write
				for range batch {
					serial++
					d := storetest.Draft{Key: 1, At: serial, Kind: 9}
					if bench.group != "" {
						d.Tags = nostr.Tags{{"h", bench.group}}
					}
					writes = append(writes, store.Write{Event: d.Event()})
				}
				for _, out := range f.store.Append(b.Context(), writes) {
					require.NoError(b, out.Err)
				}
				logsBefore, othersBefore := f.store.logs.Load(), f.store.others.Load()
				b.StartTimer()
				begin := time.Now()
				f.step(b)
				spent += time.Since(begin)
				b.StopTimer()
				events += batch
				logs += f.store.logs.Load() - logsBefore
				others += f.store.others.Load() - othersBefore
				require.Equal(b, batch*candidates, f.drain(b))
				b.StartTimer()
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(events*candidates), "ns/candidate")
			b.ReportMetric(float64(others)/float64(events), "calls/event")
			b.ReportMetric(float64(logs)/float64(events), "logreads/event")
		})
	}
}
