package postgres_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
)

// A replica that stops at any moment, inside its commit as well, holds up the others for
// less than 3 s, and nothing that they acknowledged is lost when it goes on or dies.
func TestAStoppedReplicaHoldsUpNobodyForLong(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{})
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), otherProcess+"="+url)
	other.Stdout, other.Stderr = os.Stdout, os.Stderr
	require.NoError(t, other.Start())
	defer func() {
		_ = other.Process.Kill() // killed already, unless the test failed
		_ = other.Wait()
	}()
	l := &ledger{at: make(map[store.Position]string)}
	rounds, n := 3, 0
	if full {
		rounds = 30
	}
	var worst time.Duration
	clock := awake(t)
	put := func(during time.Duration) {
		for began := time.Now(); time.Since(began) < during; n++ {
			e, sent := note(1, time.Now().String()), clock()
			out := write(t, s, store.Write{Event: e})
			require.NoError(t, out.Err)
			worst = max(worst, clock()-sent)
			l.note(out, e.ID)
		}
	}
	for clock := awake(t); len(log(t, s)) <= n; { // until the other replica publishes as well
		require.Less(t, clock(), patience)
		put(50 * time.Millisecond)
	}
	for range rounds {
		put(200*time.Millisecond + rand.N(100*time.Millisecond))
		require.NoError(t, other.Process.Signal(syscall.SIGSTOP))
		put(500 * time.Millisecond)
		require.NoError(t, other.Process.Signal(syscall.SIGCONT))
	}
	require.NoError(t, other.Process.Kill())
	put(200 * time.Millisecond)
	t.Logf("%d commits, the slowest took %s", n, worst)
	require.Less(t, worst, 3*time.Second)
	l.requireKept(t, s)
}
