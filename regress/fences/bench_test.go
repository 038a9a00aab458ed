package fences_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/lifecycle/fence"
	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/postgres"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// BenchmarkFenced publishes without a fence and under one by turns, in rounds of one
// run, and reports what the second costs beside the first (P17).
func BenchmarkFenced(b *testing.B) {
	open := map[string]func(b *testing.B) store.Store{
		"embedded": func(b *testing.B) store.Store {
			s, err := embedded.Open(b.TempDir(), embedded.Options{})
			require.NoError(b, err)
			return s
		},
		"postgres": func(b *testing.B) store.Store {
			s, err := postgres.Open(b.Context(), server.StartOnDisk(b).Database(b), postgres.Options{Migrate: true})
			require.NoError(b, err)
			return s
		},
	}
	for name, open := range open {
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", name, callers), func(b *testing.B) {
				s := open(b)
				defer func() { require.NoError(b, s.Close()) }()
				claim := fence.Change{New: fence.TokenOf("token"), Active: true, Lease: time.Hour}
				stream := fence.Stream{Owner: storetest.Key(0), Name: "s"}
				require.NoError(b, s.Append(b.Context(), []store.Write{{Fence: &store.Fence{Stream: stream, Change: &claim}}})[0].Err)
				turns(b, s, callers, &store.Fence{Stream: stream, Token: claim.New})
			})
		}
	}
}

// turns publishes b.N events each way, a round of some each way by turns. The ratio is
// the median over rounds, which a busy machine disturbs least.
func turns(b *testing.B, s store.Store, callers int, f *store.Fence) {
	round := 16 * callers
	var made atomic.Int64
	var ratios []float64
	var spent [2]time.Duration
	for i, done := 0, 0; done < b.N; i, done = i+1, done+round {
		var now [2]time.Duration
		for turn := range 2 {
			way := (i + turn) % 2
			now[way] = once(b, s, callers, round, &made, []*store.Fence{nil, f}[way])
			spent[way] += now[way]
		}
		ratios = append(ratios, float64(now[1])/float64(now[0]))
	}
	slices.Sort(ratios)
	events := float64(round * len(ratios))
	b.ReportMetric(0, "ns/op") // of both together, which says nothing
	b.ReportMetric(float64(spent[0].Microseconds())/events, "plain-µs")
	b.ReportMetric(float64(spent[1].Microseconds())/events, "fenced-µs")
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
}

// once publishes n events by some callers at once and returns how long that took.
func once(b *testing.B, s store.Store, callers, n int, made *atomic.Int64, f *store.Fence) time.Duration {
	events := make(chan *wire.Event, n)
	for range n {
		events <- benchNote(made.Add(1))
	}
	close(events)
	begin := time.Now()
	var g errgroup.Group
	for range callers {
		g.Go(func() error {
			for ev := range events {
				if out := s.Append(b.Context(), []store.Write{{Event: ev, Fence: f}})[0]; out.Err != nil {
					return out.Err
				}
			}
			return nil
		})
	}
	require.NoError(b, g.Wait())
	return time.Since(begin)
}

// benchNote is an event of 400 bytes or so; its signature is not looked at by stores.
func benchNote(n int64) *wire.Event {
	return wire.NewEvent(nostr.Event{
		ID: fmt.Sprintf("%064x", n), PubKey: storetest.Key(1), Kind: 1, CreatedAt: nostr.Timestamp(1_700_000_000 + n),
		Sig: fmt.Sprintf("%0128x", n), Content: fmt.Sprintf("note number %d of a stream", n),
	})
}
