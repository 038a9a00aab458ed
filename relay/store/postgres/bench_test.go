package postgres_test

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// callers is how many wait for a commit at a time.
const callers = 256

// Events a second through the store and through plain inserts, one of each event in a
// transaction of its own on 16 connections, into the same database on a disk.
func BenchmarkAppend(b *testing.B) {
	from := server.StartOnDisk(b)
	b.Run("plain", func(b *testing.B) {
		pool, err := pgxpool.New(b.Context(), from.Database(b)+"&pool_max_conns=16")
		require.NoError(b, err)
		defer pool.Close()
		_, err = pool.Exec(b.Context(), `CREATE TABLE plain (position bigserial PRIMARY KEY, id bytea UNIQUE,
pubkey bytea, kind integer, created_at bigint, raw bytea)`)
		require.NoError(b, err)
		events := made(b.N)
		b.ResetTimer()
		each(b, events, func(ctx context.Context, e *wire.Event) error {
			id, _ := hex.DecodeString(e.ID)
			key, _ := hex.DecodeString(e.PubKey)
			_, err := pool.Exec(ctx, "INSERT INTO plain (id, pubkey, kind, created_at, raw) VALUES ($1, $2, $3, $4, $5)",
				id, key, e.Kind, int64(e.CreatedAt), e.Raw())
			return err
		})
	})
	for _, replicas := range []int{1, 2} {
		b.Run("store/"+strconv.Itoa(replicas), func(b *testing.B) {
			url := from.Database(b)
			var stores []*postgres.Store
			for range replicas {
				s, err := postgres.Open(b.Context(), url, postgres.Options{Migrate: true})
				require.NoError(b, err)
				defer func() { require.NoError(b, s.Close()) }()
				stores = append(stores, s)
			}
			events := made(b.N)
			var turn atomic.Int64
			b.ResetTimer()
			each(b, events, func(ctx context.Context, e *wire.Event) error {
				s := stores[int(turn.Add(1))%len(stores)]
				return s.Append(ctx, []store.Write{{Event: e}})[0].Err
			})
		})
	}
}

// made makes notes of about 400 bytes with three indexed tags.
func made(n int) []*wire.Event {
	r := rand.New(rand.NewPCG(1, 2))
	events := make([]*wire.Event, n)
	for i := range events {
		tags := nostr.Tags{
			{"e", storetest.Key(r.IntN(1000))},
			{"p", storetest.Key(r.IntN(1000))},
			{"t", "topic" + strconv.Itoa(r.IntN(50))},
		}
		events[i] = storetest.Draft{Key: r.IntN(500), Kind: 1, At: 1_700_000_000 + int64(i), Tags: tags, Content: "note " + strconv.Itoa(i)}.Event()
	}
	return events
}

func each(b *testing.B, events []*wire.Event, do func(context.Context, *wire.Event) error) {
	began := time.Now()
	var g errgroup.Group
	g.SetLimit(callers)
	for _, e := range events {
		g.Go(func() error { return do(b.Context(), e) })
	}
	require.NoError(b, g.Wait())
	b.ReportMetric(float64(len(events))/time.Since(began).Seconds(), "events/s")
}
