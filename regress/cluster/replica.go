package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/regress/postgres"
	"fencepost/relay/client"
)

// Patience bounds every wait for something that must come. It is long, since the
// machine may be busy with other suites.
const Patience = 60 * time.Second

// Replica is one process of the relay, on an address that it keeps. Its methods may be
// called from any goroutine, those that start and end it by one at a time.
type Replica struct {
	// Set at construction, never changed.
	Number int
	URL    string          // ws://host:port
	Data   string          // its data folder
	Proxy  *postgres.Proxy // nil unless it was asked for

	binary string
	args   []string
	env    []string
	log    *journal

	cmd   *exec.Cmd     // nil while it does not run
	ended chan struct{} // closed when cmd has ended
}

// newReplica finds an address for a replica over the database of that URL.
func newReplica(t testing.TB, o Options, number int) *Replica {
	t.Helper()
	r := &Replica{Number: number, binary: o.Binary, log: newJournal()}
	database := o.Database
	if o.Proxied {
		r.Proxy = postgres.NewProxy(t, database)
		database = r.Proxy.URL()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	address := l.Addr().String()
	r.URL = "ws://" + address
	r.Data = filepath.Join(t.TempDir(), "data")
	r.args = []string{"serve", "--listen", address}
	r.env = append([]string{
		"FENCEPOST_STORE_POSTGRES_URL=" + database,
		"FENCEPOST_DATA=" + r.Data,
		"FENCEPOST_NETWORK_MAX_CONNECTIONS_PER_ADDRESS=0",
		"FENCEPOST_SUBSCRIPTIONS_MAX_LIMIT=0",
		"FENCEPOST_SUBSCRIPTIONS_MAX_TOTAL=0",
	}, o.Env...)
	t.Cleanup(func() {
		r.Kill()
		if t.Failed() {
			t.Logf("replica %d logged at its end:\n%s", number, r.log.tail(4000))
		}
	})
	return r
}

var readyLine = regexp.MustCompile(`msg=ready address=`)

// Start runs the process and waits until it is ready.
func (r *Replica) Start(ctx context.Context) error {
	from := r.log.end()
	r.cmd = exec.Command(r.binary, r.args...)
	r.cmd.Env = append(r.cmd.Environ(), r.env...)
	r.cmd.Stderr = r.log
	if err := r.cmd.Start(); err != nil {
		return err
	}
	r.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait() // ended by a signal mostly: that is what is wanted
		close(ended)
	}(r.cmd, r.ended)
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	for {
		ready, more := r.log.find(readyLine, from)
		if ready {
			return nil
		}
		select {
		case <-more:
		case <-r.ended:
			return fmt.Errorf("replica %d ended before it was ready:\n%s", r.Number, r.log.tail(2000))
		case <-ctx.Done():
			return fmt.Errorf("replica %d is not ready: %w:\n%s", r.Number, ctx.Err(), r.log.tail(2000))
		}
	}
}

// Await waits for a line that the process logs.
func (r *Replica) Await(ctx context.Context, pattern *regexp.Regexp) error {
	for {
		found, more := r.log.find(pattern, 0)
		if found {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("replica %d did not log %s: %w:\n%s", r.Number, pattern, ctx.Err(), r.log.tail(2000))
		}
	}
}

// Kill ends the process by SIGKILL and waits for it. It does nothing when the process
// has ended.
func (r *Replica) Kill() { r.end(syscall.SIGKILL) }

// Drain ends the process by SIGTERM and waits for it.
func (r *Replica) Drain() { r.end(syscall.SIGTERM) }

func (r *Replica) end(s syscall.Signal) {
	if r.cmd == nil {
		return
	}
	_ = r.cmd.Process.Signal(s) // fails when it has ended
	<-r.ended
	r.cmd = nil
}

// Stop stops the process (SIGSTOP): it does nothing at all until Continue.
func (r *Replica) Stop() error { return r.signal(syscall.SIGSTOP) }

// Continue lets a stopped process go on (SIGCONT).
func (r *Replica) Continue() error { return r.signal(syscall.SIGCONT) }

func (r *Replica) signal(s syscall.Signal) error {
	if r.cmd == nil {
		return errors.New("the process does not run")
	}
	return r.cmd.Process.Signal(s)
}

// Pid is the number of the process.
func (r *Replica) Pid() int { return r.cmd.Process.Pid }

// Dial connects to the replica.
func (r *Replica) Dial(ctx context.Context) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return client.Dial(ctx, r.URL, client.Options{Buffer: 4096})
}

// page is the URL of what it serves by HTTP.
func (r *Replica) page(path string) string {
	return "http" + strings.TrimPrefix(r.URL, "ws") + path
}
