package cluster_test

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/regress/cluster"
	"fencepost/regress/postgres"
	"fencepost/relay/client"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// Of publishers: connections to each replica, and events in flight on each.
const (
	connections = 24
	window      = 16
)

// Events a second that 1, 2 and 3 replicas acknowledge, beside plain inserts of the same
// events into the same server, one in a transaction of its own on 16 connections. The
// data is on a disk. Publishers, replicas and PostgreSQL share the machine, and the
// plain inserts check no signatures.
func BenchmarkPublish(b *testing.B) {
	server := postgres.StartOnDisk(b)
	plain := 0.0
	b.Run("plain", func(b *testing.B) {
		events := made(b.N)
		pool, err := pgxpool.New(b.Context(), server.Database(b)+"&pool_max_conns=16")
		require.NoError(b, err)
		defer pool.Close()
		_, err = pool.Exec(b.Context(), `CREATE TABLE plain (position bigserial PRIMARY KEY, id bytea UNIQUE,
pubkey bytea, kind integer, created_at bigint, raw bytea)`)
		require.NoError(b, err)
		plain = each(b, events, connections*window, func(ctx context.Context, _ int, e *wire.Event) error {
			id, _ := hex.DecodeString(e.ID)
			key, _ := hex.DecodeString(e.PubKey)
			_, err := pool.Exec(ctx, "INSERT INTO plain (id, pubkey, kind, created_at, raw) VALUES ($1, $2, $3, $4, $5)",
				id, key, e.Kind, int64(e.CreatedAt), e.Raw())
			return err
		})
	})
	for _, replicas := range []int{1, 2, 3} {
		b.Run("replicas/"+strconv.Itoa(replicas), func(b *testing.B) {
			events := made(b.N)
			c := cluster.Start(b, cluster.Options{Binary: binary, Database: server.Database(b), Replicas: replicas})
			conns := make([]*client.Client, connections*replicas)
			for i := range conns {
				conns[i] = dial(b, c.Replicas[i%replicas])
			}
			rate := each(b, events, len(conns)*window, func(ctx context.Context, n int, e *wire.Event) error {
				return conns[n%len(conns)].Publish(ctx, e)
			})
			if plain > 0 {
				b.ReportMetric(rate/plain, "x-plain")
			}
			b.ReportMetric(perCommit(b, c.Database), "events/commit")
		})
	}
}

// perCommit returns how many rows the log has for each commit.
func perCommit(b *testing.B, database string) (n float64) {
	o := operate(b, database)
	require.NoError(b, o.conn.QueryRow(b.Context(), "SELECT head::float8 / version FROM log_head").Scan(&n))
	return n
}

// each does something with each event, so many at a time, and reports how many a second.
func each(b *testing.B, events []*wire.Event, atOnce int, do func(ctx context.Context, n int, e *wire.Event) error) float64 {
	b.ResetTimer()
	began := time.Now()
	var g errgroup.Group
	g.SetLimit(atOnce)
	for n, e := range events {
		g.Go(func() error { return do(b.Context(), n, e) })
	}
	require.NoError(b, g.Wait())
	rate := float64(len(events)) / time.Since(began).Seconds()
	b.StopTimer()
	b.ReportMetric(rate, "events/s")
	return rate
}

// made makes signed notes of about 400 bytes with three indexed tags.
func made(n int) []*wire.Event {
	r := rand.New(rand.NewPCG(1, 2))
	events := make([]*wire.Event, n)
	for i := range events {
		tags := nostr.Tags{
			{"e", storetest.Key(r.IntN(1000))}, {"p", storetest.Key(r.IntN(1000))}, {"t", "topic" + strconv.Itoa(r.IntN(50))},
		}
		e, err := cluster.Event(1+r.IntN(500), note, "note "+strconv.Itoa(i), tags...)
		if err != nil {
			panic(err) // only for a key that is none
		}
		events[i] = e
	}
	return events
}

// How long an event takes to a subscriber of the replica that it is published on, and to
// one of another, from when it is sent, one at a time.
func BenchmarkCross(b *testing.B) {
	server := postgres.StartOnDisk(b)
	c := cluster.Start(b, cluster.Options{Binary: binary, Database: server.Database(b), Replicas: 2})
	events := made(b.N)
	filter := []*wire.Filter{wire.NewFilter(nostr.Filter{Kinds: []int{note}})}
	here, there := hearing(b, c.Replicas[0], filter), hearing(b, c.Replicas[1], filter)
	conn := dial(b, c.Replicas[0])
	var oks, same, other []time.Duration
	b.ResetTimer()
	for _, e := range events {
		sent := time.Now()
		require.NoError(b, conn.Publish(b.Context(), e))
		oks = append(oks, time.Since(sent))
		same = append(same, here.since(b, e, sent))
		other = append(other, there.since(b, e, sent))
	}
	b.StopTimer()
	for name, took := range map[string][]time.Duration{"ok": oks, "same": same, "other": other} {
		slices.Sort(took)
		b.ReportMetric(milliseconds(took[len(took)/2]), name+"-p50-ms")
		b.ReportMetric(milliseconds(took[len(took)*99/100]), name+"-p99-ms")
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// hearer is a subscription that notes when each event came.
type hearer chan heard

type heard struct {
	id string
	at time.Time
}

func hearing(b *testing.B, r *cluster.Replica, filters []*wire.Filter) hearer {
	e := listen(b, r, filters)
	h := make(hearer, 16)
	var g errgroup.Group
	g.Go(func() error {
		for {
			m, err := e.conn.Next(b.Context())
			if err != nil {
				return nil // the end of the benchmark
			}
			if m.Verb == "EVENT" {
				h <- heard{m.Event.ID, time.Now()}
			}
		}
	})
	return h
}

// since waits for an event.
func (h hearer) since(b *testing.B, e *wire.Event, sent time.Time) time.Duration {
	select {
	case got := <-h:
		require.Equal(b, e.ID, got.id)
		return got.at.Sub(sent)
	case <-time.After(cluster.Patience):
		require.Fail(b, "an event did not come")
		return 0
	}
}
