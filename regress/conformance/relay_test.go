package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long anything may take that must come.
const patience = 60 * time.Second

// relay is the relay under test: a process of ours, or one by URL.
type relay struct {
	url  string   // of the socket
	env  []string // NAME=value, without the FENCEPOST_ prefix
	data string

	cmd  *exec.Cmd // nil for a relay by URL
	log  *logBuffer
	done chan struct{} // closed when the process has ended
	err  error         // why; read after done
}

// target returns the relay to test. Tests that ask for the same configuration
// share one process.
func target(t *testing.T, env ...string) *relay {
	t.Helper()
	if *urlFlag != "" && len(env) == 0 {
		return &relay{url: *urlFlag}
	}
	needOwn(t, env...)
	relays.mu.Lock()
	defer relays.mu.Unlock()
	key := strings.Join(env, "\n")
	if r := relays.shared[key]; r != nil {
		return r
	}
	r := relays.startLocked(t, env)
	relays.shared[key] = r
	return r
}

// own starts a process for this test alone.
func own(t *testing.T, env ...string) *relay {
	t.Helper()
	needOwn(t, env...)
	relays.mu.Lock()
	defer relays.mu.Unlock()
	return relays.startLocked(t, env)
}

func needOwn(t *testing.T, env ...string) {
	t.Helper()
	if *urlFlag == "" {
		return
	}
	what := "a relay that it may stop"
	if len(env) > 0 {
		what = "a relay configured with " + strings.Join(env, " ")
	}
	t.Skipf("%s needs %s; -conformance.url names one that this suite did not start", t.Name(), what)
}

func (f *fleet) startLocked(t *testing.T, env []string) *relay {
	t.Helper()
	data := filepath.Join(f.dir, "data"+strconv.Itoa(len(f.all)))
	r := &relay{env: env, data: data}
	require.NoError(t, r.start(f))
	f.all = append(f.all, r)
	return r
}

// start starts the process on a free port and waits until it is ready.
func (r *relay) start(f *fleet) error {
	binary, err := f.binary()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return err
	}
	r.url, r.log, r.done = "ws://"+address, &logBuffer{}, make(chan struct{})
	r.cmd = exec.Command(binary, "serve")
	r.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "FENCEPOST_") })
	r.cmd.Env = append(r.cmd.Env, "FENCEPOST_LISTEN="+address, "FENCEPOST_DATA="+r.data)
	for _, v := range r.env {
		r.cmd.Env = append(r.cmd.Env, "FENCEPOST_"+v)
	}
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = f.dir, r.log, r.log
	if err := r.cmd.Start(); err != nil {
		return err
	}
	go func() { r.err = r.cmd.Wait(); close(r.done) }()
	return r.awaitReady()
}

func (r *relay) awaitReady() error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for {
		select {
		case <-tick.C:
			if _, status, err := get(r.page("/readyz")); err == nil && status == http.StatusOK {
				return nil
			}
		case <-r.done:
			return fmt.Errorf("relay ended: %w\n%s", r.err, r.log)
		case <-timeout:
			return fmt.Errorf("relay is not ready\n%s", r.log)
		}
	}
}

// page returns the http URL of a path beside the socket.
func (r *relay) page(path string) string {
	base := "http" + strings.TrimPrefix(r.url, "ws")
	scheme, rest, _ := strings.Cut(base, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host + path
}

func get(url string) (body string, status int, err error) {
	resp, err := http.Get(url)
	if err != nil {
		return "", 0, err
	}
	data, err := io.ReadAll(resp.Body)
	return string(data), resp.StatusCode, errors.Join(err, resp.Body.Close())
}

// kill ends the process with SIGKILL, restart brings it back with its data.
func (r *relay) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, r.cmd.Process.Kill())
	<-r.done
}

func (r *relay) restart(t *testing.T) {
	t.Helper()
	require.NoError(t, r.start(relays))
}

// stop ends the process with SIGTERM and returns how it ended.
func (r *relay) stop() error {
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-r.done:
		return r.err
	case <-time.After(2 * patience):
		return errors.Join(errors.New("does not stop at SIGTERM"), r.cmd.Process.Kill())
	}
}

// retire stops a process at the end of the suite, when it must not have had a
// panic, and must end without a race.
func (r *relay) retire() error {
	select {
	case <-r.done: // its test has judged its end
		return nil
	default:
	}
	body, _, err := get(r.page("/metrics"))
	if err != nil {
		return err
	}
	if n := metricIn(body, "fencepost_panics_total"); n != 0 {
		return fmt.Errorf("%v panics", n)
	}
	if err := r.stop(); err != nil {
		return fmt.Errorf("end of the process: %w", err)
	}
	return nil
}

// metric returns the value of a metric without labels.
func (r *relay) metric(t *testing.T, name string) float64 {
	t.Helper()
	body, _, err := get(r.page("/metrics"))
	require.NoError(t, err)
	return metricIn(body, name)
}

func metricIn(body, name string) float64 {
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err == nil {
				return n
			}
		}
	}
	return -1
}

// eventually waits until done says so; what is printed when it never does.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.FailNow(t, "never: "+what)
		}
	}
}

// logBuffer keeps what a process prints.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
