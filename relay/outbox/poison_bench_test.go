package outbox_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/outbox"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// poisoned is a log of posts of two groups: one in a hundred is of the group whose
// first row cannot be read for as long as bad is set.
type poisoned struct {
	ok, other *wire.Event
	bad       bool
}

func (l *poisoned) ReadLog(_ context.Context, after store.Position, most int) (rows []store.Entry, err error) {
	for at := after + 1; len(rows) < most; at++ {
		switch {
		case at == 1 && l.bad:
			rows = append(rows, store.Entry{Position: at, Type: store.EntryEvent, Broken: store.Salvage(store.ErrDamaged, l.other.Raw())})
		case at%100 == 1:
			rows = append(rows, store.Entry{Position: at, Type: store.EntryEvent, Event: l.other})
		default:
			rows = append(rows, store.Entry{Position: at, Type: store.EntryEvent, Event: l.ok})
		}
	}
	return rows, nil
}

func (*poisoned) Changed() <-chan struct{} { return nil }

// BenchmarkPoison is the fan-out of 256 rows to 20 readers while a row of another
// aggregate is deferred, with those that wait behind it, beside the same without one:
// "healthy" is the ratio of the time that a row takes.
func BenchmarkPoison(b *testing.B) {
	p := &policy{}
	ok := storetest.Draft{Key: 1, At: 1, Kind: 1, Tags: nostr.Tags{{"h", "healthy"}}}.Event()
	other := storetest.Draft{Key: 2, At: 1, Kind: 1, Tags: nostr.Tags{{"h", "sick"}}}.Event()
	var healthy float64
	for _, bad := range []bool{false, true} {
		b.Run(map[bool]string{false: "healthy", true: "poisoned"}[bad], func(b *testing.B) {
			index, conns := crowd(b)
			index.all = index.all[:20]
			begin := func() *outbox.Follower {
				return outbox.New(outbox.Options{
					Log: &poisoned{ok: ok, other: other, bad: bad}, Index: index, Access: p, Controls: p, Metrics: &counts{},
					Now: time.Now, Logger: slog.New(slog.DiscardHandler), Letters: &letters{kept: map[store.Position]store.DeadLetter{}},
				})
			}
			f, rows := begin(), 0
			for n := 0; b.Loop(); n++ {
				if n%3 == 2 {
					drain(b, conns[:20])
				}
				if rows > 50_000 { // before too many wait
					b.StopTimer()
					f, rows = begin(), 0
					b.StartTimer()
				}
				done, err := f.Step(b.Context())
				require.NoError(b, err)
				rows += done
			}
			b.StopTimer()
			require.Equal(b, bad, len(f.Deferred()) > 0)
			for _, c := range conns {
				c.Finish()
			}
			cost := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / 256
			b.ReportMetric(cost, "ns/row")
			if !bad {
				healthy = cost
			}
			b.ReportMetric(cost/healthy, "healthy")
		})
	}
}
