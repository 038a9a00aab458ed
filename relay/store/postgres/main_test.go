package postgres_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	server "fencepost/regress/postgres"
	"fencepost/relay/store/postgres"
)

// full makes the tests run at their long sizes; make test-pg sets it.
var full = os.Getenv("FENCEPOST_TEST_FULL") != ""

// otherProcess names the database over which this binary, started again by a test, is
// a replica that publishes until it is killed.
const otherProcess = "FENCEPOST_TEST_REPLICA"

func TestMain(m *testing.M) {
	if url := os.Getenv(otherProcess); url != "" {
		s, err := postgres.Open(context.Background(), url, postgres.Options{})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		publish(context.Background(), 100, []*postgres.Store{s})
	}
	goleak.VerifyTestMain(m)
}

// open opens a store over an empty database of its own.
func open(t *testing.T, from *server.Server, opt postgres.Options) *postgres.Store {
	t.Helper()
	return reopen(t, from.Database(t), opt)
}

// reopen opens a store in a database, which is migrated before.
func reopen(t *testing.T, url string, opt postgres.Options) *postgres.Store {
	t.Helper()
	opt.Migrate = true
	s, err := postgres.Open(t.Context(), url, opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func at(now func() time.Time) postgres.Options { return postgres.Options{Now: now, MaxConns: 3} }
