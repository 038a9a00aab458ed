package postgres

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// EnvURL names the variable with the URL of a server to use instead of an own one. Its
// role must be allowed to create databases.
const EnvURL = "FENCEPOST_TEST_POSTGRES"

// Server is a running PostgreSQL. Its methods may be called from any goroutine.
type Server struct {
	// Set at construction, never changed.
	admin   string // URL of a database that is always there
	prefix  string // of the names of databases
	cluster *cluster

	made atomic.Int64
}

// Start returns a server for the test, which it ends with. It skips the test, or fails
// it in CI, where no PostgreSQL can be found. Its data is in memory where there is room:
// it does what it would do on a disk, faster.
func Start(t testing.TB) *Server {
	t.Helper()
	return start(t, memory())
}

// StartOnDisk is Start with the data in the folder for temporary files.
func StartOnDisk(t testing.TB) *Server {
	t.Helper()
	return start(t, "")
}

func start(t testing.TB, folder string) *Server {
	t.Helper()
	s := &Server{admin: os.Getenv(EnvURL), prefix: fmt.Sprintf("fencepost_%d_%d_", os.Getpid(), time.Now().UnixNano())}
	if s.admin != "" {
		return s
	}
	bin, err := findBinaries()
	if err != nil {
		if os.Getenv("CI") == "true" {
			require.NoError(t, err, "CI needs PostgreSQL")
		}
		t.Skipf("PostgreSQL is needed: %v; set %s or install postgresql", err, EnvURL)
	}
	s.cluster = newCluster(t, bin, folder)
	s.admin = s.cluster.url()
	return s
}

// Database makes an empty database and returns its URL. It goes with the test, or with
// the own server.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("%s%d", s.prefix, s.made.Add(1))
	s.exec(t, "CREATE DATABASE "+name)
	if !s.Own() { // to drop one makes a checkpoint
		t.Cleanup(func() { s.exec(t, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	}
	u, err := url.Parse(s.admin)
	require.NoError(t, err)
	u.Path = "/" + name
	return u.String()
}

// Own reports whether the server is the test's own, so that Kill and Restart work.
func (s *Server) Own() bool { return s.cluster != nil }

// Restart ends the server at once, as a crash does, and starts it again on the same
// port.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.cluster.stop()
	require.NoError(t, os.RemoveAll(s.cluster.signal()))
	require.NoError(t, s.cluster.start())
}

// RestartAsStandby is Restart as a standby, which only reads, until the next Restart.
func (s *Server) RestartAsStandby(t testing.TB) {
	t.Helper()
	s.cluster.stop()
	require.NoError(t, os.WriteFile(s.cluster.signal(), nil, 0o644))
	require.NoError(t, s.cluster.start())
}

// Kill ends the server at once.
func (s *Server) Kill() { s.cluster.stop() }

func (s *Server) exec(t testing.TB, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.admin)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, statement)
	require.NoError(t, err)
	require.NoError(t, conn.Close(ctx))
}
