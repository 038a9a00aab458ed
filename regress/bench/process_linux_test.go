package bench_test

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/regress/bench"
)

// burn uses CPU time: n times some 50 ns.
func burn(n int) {
	var sum [32]byte
	for range n {
		sum = sha256.Sum256(sum[:])
	}
}

func TestCPUOfAProcess(t *testing.T) {
	before, err := bench.CPU(os.Getpid())
	require.NoError(t, err)
	burn(2_000_000)
	after, err := bench.CPU(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, after, before)

	rss, pss, err := bench.Memory(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, pss, int64(1<<20))
	require.GreaterOrEqual(t, rss, pss)
}

func TestAProcessThatEndedHasNoFigures(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "true")
	require.NoError(t, cmd.Run())
	_, err := bench.CPU(cmd.Process.Pid)
	require.Error(t, err)
	_, _, err = bench.Memory(0)
	require.ErrorContains(t, err, "no process id was given")
}

func TestCPUOfAThreadIsItsOwn(t *testing.T) {
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				burn(1000)
			}
		}
	}()
	began := time.Now()
	spent, err := bench.OnThread(func() error {
		burn(2_000_000)
		return nil
	})
	elapsed := time.Since(began)
	close(stop)
	<-done
	require.NoError(t, err)
	require.Positive(t, spent)
	require.LessOrEqual(t, spent, elapsed+20*time.Millisecond, "the other goroutine is on another thread")
}
