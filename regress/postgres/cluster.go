package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// cluster is a server process with its data.
type cluster struct {
	// Set at construction, never changed.
	bin  string
	dir  string
	user *syscall.Credential // nil for the user of the tests

	port int // set once it is found to be free, then not changed

	process *os.Process   // nil while it does not run
	ended   chan struct{} // closed when process has ended
	log     *bytes.Buffer // of process; read once it has ended
}

// findBinaries returns the folder with initdb and postgres: that of PATH, or else the
// newest version under /usr/lib/postgresql.
func findBinaries() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && hasInitdb(filepath.Dir(path)) {
			return filepath.Dir(path), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	found = slices.DeleteFunc(found, func(dir string) bool { return !hasInitdb(dir) })
	if len(found) == 0 {
		return "", errors.New("no postgres in PATH or /usr/lib/postgresql")
	}
	return slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }), nil
}

func hasInitdb(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "initdb"))
	return err == nil
}

// version is the number in /usr/lib/postgresql/N/bin.
func version(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin))) // no number is the oldest
	return n
}

// memory returns a folder in memory with room for a cluster, "" where there is none.
func memory() string {
	const folder, room = "/dev/shm", 4 << 30
	var free syscall.Statfs_t
	if err := syscall.Statfs(folder, &free); err != nil || free.Bavail*uint64(free.Bsize) < room {
		return ""
	}
	return folder
}

// newCluster makes a cluster below folder, "" for the one of temporary files.
func newCluster(t testing.TB, bin, folder string) *cluster {
	t.Helper()
	dir, err := os.MkdirTemp(folder, "fencepost-postgres-")
	require.NoError(t, err)
	c := &cluster{bin: bin, dir: filepath.Join(dir, "data")}
	t.Cleanup(func() {
		c.stop()
		require.NoError(t, os.RemoveAll(dir))
	})
	if os.Geteuid() == 0 {
		c.user = otherUser(t)
		require.NoError(t, os.Chown(dir, int(c.user.Uid), int(c.user.Gid)))
	}
	init := c.command("initdb", "-D", c.dir, "-U", "fencepost", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	out, err := init.CombinedOutput()
	require.NoError(t, err, "initdb: %s", out)
	for range 10 {
		c.port = freePort(t)
		if err = c.start(); !errors.Is(err, errPort) {
			break
		}
	}
	require.NoError(t, err)
	return c
}

var errPort = errors.New("PostgreSQL ended")

// otherUser is whom the server runs as, since it refuses root.
func otherUser(t testing.TB) *syscall.Credential {
	t.Helper()
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		require.NoError(t, err)
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		require.NoError(t, err)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	require.Fail(t, "PostgreSQL does not run as root, and there is no user postgres or nobody")
	return nil
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().(*net.TCPAddr).Port
}

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.user}
	return cmd
}

// start runs the server and waits until it answers. errPort when it ended at once, as it
// does when another program has taken its port meanwhile.
func (c *cluster) start() error {
	c.log = new(bytes.Buffer)
	process := c.command("postgres", "-D", c.dir, "-p", strconv.Itoa(c.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "max_connections=300", "-c", "shared_buffers=256MB", "-c", "max_wal_size=4GB",
		"-c", "checkpoint_timeout=30min", "-c", "log_min_messages=warning")
	process.Stdout, process.Stderr = c.log, c.log
	if err := process.Start(); err != nil {
		return err
	}
	c.process, c.ended = process.Process, make(chan struct{})
	go func(ended chan struct{}) {
		_ = process.Wait() // ended by a signal mostly: that is what is wanted
		close(ended)
	}(c.ended)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for tick := time.Tick(20 * time.Millisecond); ; {
		conn, err := pgx.Connect(ctx, c.url())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-tick:
		case <-c.ended:
			c.process = nil
			return fmt.Errorf("%w: %s", errPort, c.log)
		case <-ctx.Done():
			c.stop()
			return fmt.Errorf("PostgreSQL does not answer: %w: %s", err, c.log)
		}
	}
}

// stop ends the server at once and waits for it; it may be called more than once.
func (c *cluster) stop() {
	if c.process == nil {
		return
	}
	_ = c.process.Signal(syscall.SIGQUIT) // fails when it has ended already
	<-c.ended
	c.process = nil
}

func (c *cluster) url() string {
	return fmt.Sprintf("postgres://fencepost@127.0.0.1:%d/postgres?sslmode=disable", c.port)
}

// signal is the file that makes the server a standby.
func (c *cluster) signal() string { return filepath.Join(c.dir, "standby.signal") }
