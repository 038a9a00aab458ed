package fences_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/lifecycle/fence"
	"fencepost/regress/cluster"
	"fencepost/regress/fences"
	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/postgres"
)

const (
	writers = 6
	lease   = 1 // second
	key     = "0000000000000000000000000000000000000000000000000000000000000009"
)

// full makes the suites run at their long sizes.
var full = os.Getenv("FENCEPOST_TEST_FULL") != ""

func TestMain(m *testing.M) {
	if text := os.Getenv(fences.WriterEnv); text != "" {
		var w fences.Writer
		if err := json.Unmarshal([]byte(text), &w); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		w.Run(context.Background(), os.Stdout)
	}
	if mode := os.Getenv(childEnv); mode != "" {
		child(mode)
	}
	os.Exit(m.Run())
}

// build builds the program once.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fencepost-fences-")
	if err != nil {
		return "", err
	}
	return cluster.Build(context.Background(), dir)
})

func binary(t *testing.T) string {
	t.Helper()
	path, err := build()
	require.NoError(t, err)
	return path
}

// storm runs six writers on one stream: one after another is stopped for longer than the
// lease, some are killed as soon as they have claimed, some revoke. On a slow machine it
// takes longer, until enough has happened.
func storm(t *testing.T, relays []*cluster.Replica) (told []fences.Line) {
	t.Helper()
	d := 12 * time.Second
	if full {
		d = time.Minute
	}
	var urls []string
	for _, r := range relays {
		urls = append(urls, "http"+strings.TrimPrefix(r.URL, "ws"))
	}
	random := rand.New(rand.NewPCG(7, 7))
	crew := fences.NewCrew(func(l fences.Line) bool { return l.Did == "claimed" && random.IntN(4) == 0 })
	for i := range writers {
		w := fences.Writer{Number: i, URLs: urls, Key: key, Stream: "s", Lease: lease, Revoke: 150}
		require.NoError(t, crew.Hire(w))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		defer cancel()
		<-time.After(d)
		for late := time.Now().Add(cluster.Patience); !enough(crew.Told()) && time.Now().Before(late); {
			<-time.After(100 * time.Millisecond)
		}
		return nil
	})
	for i := range writers {
		g.Go(func() error {
			own := rand.New(rand.NewPCG(uint64(i), 1))
			for {
				select {
				case <-time.After(time.Duration(200+own.IntN(2000)) * time.Millisecond):
				case <-ctx.Done():
					return nil
				}
				victim := i
				if own.IntN(2) == 0 {
					victim = crew.Owner()
				}
				crew.Signal(victim, syscall.SIGSTOP)
				select {
				case <-time.After(lease*time.Second + time.Duration(100+own.IntN(1000))*time.Millisecond):
				case <-ctx.Done():
				}
				crew.Signal(victim, syscall.SIGCONT)
			}
		})
	}
	g.Go(func() error { // and a relay is killed in the middle
		<-time.After(d / 2)
		relays[0].Kill()
		return relays[0].Start(t.Context())
	})
	require.NoError(t, g.Wait())
	told, kills := crew.End()
	t.Logf("%d writers killed after claiming", kills)
	return told
}

// What has to happen in a storm, or it proves nothing.
const (
	leastFrames  = 500
	leastOwners  = 6
	leastRefused = 1 // woke as former owners
)

func enough(told []fences.Line) bool {
	frames, refused, owners := 0, 0, map[uint64]bool{}
	for _, l := range told {
		switch l.Did {
		case "admitted":
			frames++
			owners[l.Epoch] = true
		case "refused":
			refused++
		}
	}
	return frames >= leastFrames && len(owners) >= leastOwners && refused >= leastRefused
}

func judge(t *testing.T, s store.Store, told []fences.Line) {
	t.Helper()
	owner, err := nostr.GetPublicKey(key)
	require.NoError(t, err)
	state, _, err := s.Fence(t.Context(), fence.Stream{Owner: owner, Name: "s"})
	require.NoError(t, err)
	var rows []store.Entry
	for {
		page, err := s.ReadLog(t.Context(), store.Position(len(rows)), 1000)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		rows = append(rows, page...)
	}
	r, err := fences.Check(rows, told, state.Next)
	t.Logf("%+v", r)
	require.NoError(t, err)
	require.GreaterOrEqual(t, r.Frames, leastFrames)
	require.GreaterOrEqual(t, r.Owners, leastOwners)
	require.GreaterOrEqual(t, r.Refused, leastRefused, "nobody woke as a former owner")
}

// P1, P6, P8 of the embedded store, over HTTP.
func TestSixWritersNeverMix(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: -short is set")
	}
	c := cluster.Start(t, cluster.Options{Binary: binary(t), Replicas: 1, Env: []string{"FENCEPOST_STORE_POSTGRES_URL="}})
	told := storm(t, c.Replicas)
	c.Replicas[0].Drain()
	s, err := embedded.Open(c.Replicas[0].Data, embedded.Options{})
	require.NoError(t, err)
	judge(t, s, told)
	require.NoError(t, s.Close())
}

// The same with three replicas over PostgreSQL, of which each call takes any.
func TestSixWritersNeverMixOverReplicas(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: -short is set")
	}
	database := server.Start(t).Database(t)
	c := cluster.Start(t, cluster.Options{Binary: binary(t), Replicas: 3, Database: database})
	told := storm(t, c.Replicas)
	s, err := postgres.Open(t.Context(), database, postgres.Options{})
	require.NoError(t, err)
	judge(t, s, told)
	require.NoError(t, s.Close())
}
