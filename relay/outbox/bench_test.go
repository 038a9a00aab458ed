package outbox_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/outbox"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

const readers = 2000

// endless is a log in which the same event follows again and again.
type endless struct{ event *wire.Event }

func (l endless) ReadLog(_ context.Context, after store.Position, _ int) ([]store.Entry, error) {
	return []store.Entry{{Position: after + 1, Type: store.EntryEvent, Event: l.event}}, nil
}

func (endless) Changed() <-chan struct{} { return nil }

// crowd is readers, each with one live subscription that wants the event.
func crowd(b *testing.B) (*handles, []*lifecycle.Conn) {
	index, conns := &handles{}, make([]*lifecycle.Conn, readers)
	filters := []*wire.Filter{wire.NewFilter(nostr.Filter{Kinds: []int{1}})}
	for i := range conns {
		c := lifecycle.NewConn(b.Context(), lifecycle.Options{ID: uint64(i), Limits: lifecycle.Limits{
			QueueFrames: 1 << 10, QueueBytes: 1 << 20, HoldFrames: 1, HoldBytes: 1, Subscriptions: 1, Weight: 10, Queries: 1,
			Pending: 1, PendingBytes: 1, RoomTimeout: time.Second,
		}})
		h, _, err := c.Reserve(b.Context(), "x", filters)
		require.NoError(b, err)
		h.Begin(0)
		live, err := h.GoLive(wire.HintFinish)
		require.NoError(b, err)
		require.True(b, live)
		c.AddKey("a reader's key")
		index.all, conns[i] = append(index.all, h), c
	}
	return index, conns
}

// drain empties the queues, as the writers do; it is not measured.
func drain(b *testing.B, conns []*lifecycle.Conn) {
	b.StopTimer()
	defer b.StartTimer()
	for _, c := range conns {
		c.Take(nil, 1<<30)
	}
}

// bench runs step, which fans one event out, and says what a candidate costs.
func bench(b *testing.B, step func(index *handles, at store.Position, ev *wire.Event)) float64 {
	index, conns := crowd(b)
	ev := storetest.Draft{Key: 1, At: 1, Kind: 1}.Event()
	b.ReportAllocs()
	at := store.Position(0)
	for b.Loop() {
		if at++; at%64 == 0 {
			drain(b, conns)
		}
		step(index, at, ev)
	}
	b.StopTimer()
	for _, c := range conns {
		c.Finish()
	}
	cost := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / readers
	b.ReportMetric(cost, "ns/candidate")
	return cost
}

// BenchmarkFanout is one event to 2,000 candidates. "bare" is the loop without
// permissions, as it was before there were any; "public" is an event that
// everybody may see, under the grant that all such events share; "members" asks
// of each reader whether one of its keys is among 10,000.
func BenchmarkFanout(b *testing.B) {
	members := make(map[string]bool)
	for i := range 10_000 {
		members[storetest.Draft{At: int64(i)}.Event().ID] = true
	}
	members["a reader's key"] = true
	scopes := []*lifecycle.Scope{lifecycle.NewScope(1), lifecycle.NewScope(2)}
	shared := lifecycle.NewGrant(scopes[0])
	public := &policy{sight: func(*wire.Event) lifecycle.Sight { return lifecycle.Sight{Grant: shared} }}
	private := &policy{sight: func(*wire.Event) lifecycle.Sight {
		return lifecycle.Sight{Grant: lifecycle.NewGrant(scopes...), May: func(keys []string) bool {
			for _, k := range keys {
				if members[k] {
					return true
				}
			}
			return false
		}}
	}}
	var bare float64
	b.Run("bare", func(b *testing.B) {
		var candidates []*lifecycle.Handle
		bare = bench(b, func(index *handles, at store.Position, ev *wire.Event) {
			e := store.Entry{Position: at, Type: store.EntryEvent, Event: ev}
			now := time.Now().Unix()
			candidates = index.Candidates(candidates[:0], ev)
			for _, h := range candidates {
				if e.Matches(h.Filters(), now) {
					h.Deliver(at, ev, nil)
				}
			}
			clear(candidates)
		})
	})
	for name, p := range map[string]*policy{"public": public, "members": private} {
		b.Run(name, func(b *testing.B) {
			var f *outbox.Follower
			cost := bench(b, func(index *handles, _ store.Position, ev *wire.Event) {
				if f == nil {
					f = outbox.New(outbox.Options{
						Log: endless{ev}, Index: index, Access: p, Controls: p, Metrics: &counts{}, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
					})
				}
				_, err := f.Step(b.Context())
				require.NoError(b, err)
			})
			b.ReportMetric(cost/bare, "bare")
		})
	}
}
