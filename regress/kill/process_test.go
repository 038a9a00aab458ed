package kill_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/relay/client"
)

// binary is the program under test; TestMain builds it.
var binary string

// patience bounds every wait for a process. It is long since the machine may be
// busy with other suites.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	if dir := os.Getenv(fillDir); dir != "" {
		fmt.Fprintln(os.Stderr, fill(dir)) // it ends by a kill, or by an error
		os.Exit(1)
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "fencepost-kill-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "fencepost")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", binary, "fencepost/cmd/fencepost")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// process is a running relay.
type process struct {
	cmd   *exec.Cmd
	url   string
	lines chan string // what it logs; closed at its end

	mu  sync.Mutex // guards log
	log strings.Builder
}

var readyLine = regexp.MustCompile(`msg=ready address=(\S+)`)

// start runs `fencepost serve` on the data folder and waits until it is ready.
func start(t *testing.T, data string, args ...string) *process {
	t.Helper()
	args = append([]string{"serve", "--data", data, "--listen", "127.0.0.1:0"}, args...)
	p := &process{cmd: exec.Command(binary, args...), lines: make(chan string, 10_000)}
	stderr, err := p.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go p.read(stderr)
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()
	})
	p.url = "ws://" + p.await(t, readyLine)[1]
	return p
}

func (p *process) read(stderr io.Reader) {
	defer close(p.lines)
	for s := bufio.NewScanner(stderr); s.Scan(); {
		p.note(s.Text())
		p.lines <- s.Text()
	}
}

func (p *process) note(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log.WriteString(line + "\n")
}

func (p *process) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// await waits for a line of the log.
func (p *process) await(t *testing.T, pattern *regexp.Regexp) []string {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case line, ok := <-p.lines:
			require.True(t, ok, "the process ended before it logged %s:\n%s", pattern, p.logged())
			if match := pattern.FindStringSubmatch(line); match != nil {
				return match
			}
		case <-late.C:
			require.Fail(t, "nothing logged", "%s:\n%s", pattern, p.logged())
		}
	}
}

// end waits until the process has ended and returns its exit code, -1 when it
// was killed.
func (p *process) end(t *testing.T) int {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case _, ok := <-p.lines:
			if ok {
				continue
			}
			var exit *exec.ExitError
			if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
				require.NoError(t, err)
			}
			return p.cmd.ProcessState.ExitCode()
		case <-late.C:
			require.Fail(t, "the process did not end", p.logged())
		}
	}
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(s))
}

// dial connects to the process.
func (p *process) dial(t *testing.T) *client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := client.Dial(ctx, p.url, client.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() }) // the process may be gone
	return c
}

// command runs the binary to its end.
func command(t *testing.T, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}
