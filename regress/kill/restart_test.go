package kill_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
)

var (
	storedEvents = flag.Int("kill.stored", 20_000, "how many events are stored when restarts are measured")
	restarts     = flag.Int("kill.restarts", 3, "how often")
	readyIn      = flag.Duration("kill.ready", 0, "how long the slowest restart may take; 0 is no bound, since the machine may be busy")
)

// fillDir names the folder that the test's own binary fills when it is started with
// this variable, instead of running tests.
const fillDir = "FENCEPOST_KILL_FILL"

// TestRestartAfterKillIsQuick kills a process that writes as fast as the store takes
// it, so that as much as there can be is left in the write-ahead log, and measures
// how long a relay takes on the folder until it is ready.
func TestRestartAfterKillIsQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds a round: -short is set")
	}
	random := rand.New(rand.NewPCG(3, 4))
	data := filepath.Join(t.TempDir(), "data")
	fillAndKill(t, data, *storedEvents)
	var took []time.Duration
	for range *restarts {
		fillAndKill(t, data, fillStep*(1+random.IntN(min(10, 1+*storedEvents/fillStep/2))))
		began := time.Now()
		p := start(t, data)
		took = append(took, time.Since(began))
		p.signal(t, syscall.SIGKILL)
		p.end(t)
	}
	slices.Sort(took)
	t.Logf("%d events and more, %d restarts until ready: median %s, slowest %s",
		*storedEvents, len(took), took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	if *readyIn > 0 {
		require.LessOrEqual(t, took[len(took)-1], *readyIn)
	}
}

// fillAndKill has another process store events, and kills it once it has so many
// more.
func fillAndKill(t *testing.T, data string, n int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), fillDir+"="+data)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	seen := 0
	for lines := bufio.NewScanner(out); seen < n && lines.Scan(); {
		seen, err = strconv.Atoi(lines.Text())
		require.NoError(t, err)
	}
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait(), "it was killed")
	require.GreaterOrEqual(t, seen, n)
}

// fillStep is how many events are between two lines that the filling process prints.
const fillStep = 10_000

// fill stores notes of some 500 bytes, six index entries each, until it is killed.
func fill(dir string) error {
	s, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		return err
	}
	ctx := context.Background()
	info, err := s.Log(ctx)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(5, 6))
	text := strings.Repeat("text ", 20)
	writes := make([]store.Write, 500)
	for n := 0; ; n += len(writes) {
		if n%fillStep == 0 {
			fmt.Println(n)
		}
		for i := range writes {
			at := int64(info.Head) + int64(n+i)
			writes[i].Event = storetest.Draft{
				Key: random.IntN(1000), Kind: []int{1, 1, 1, 7, 6}[random.IntN(5)], At: at, Content: text + strconv.FormatInt(at, 10),
				Tags: nostr.Tags{{"t", fmt.Sprint("topic", random.IntN(200))}, {"p", storetest.Key(random.IntN(1000))}},
			}.Event()
		}
		for _, o := range s.Append(ctx, writes) {
			if o.Err != nil {
				return o.Err
			}
		}
	}
}
