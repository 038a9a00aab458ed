package cluster_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"fencepost/regress/cluster"
	"fencepost/regress/postgres"
)

// suites says that the suites run, which takes minutes.
var suites = flag.Bool("cluster", false, "run the suites of several processes, as make test-pg does")

// binary is the program under test; TestMain builds it.
var binary string

// full makes the suites run at their long sizes.
var full = os.Getenv("FENCEPOST_TEST_FULL") != ""

func TestMain(m *testing.M) {
	flag.Parse()
	if !*suites && flag.Lookup("test.bench").Value.String() == "" {
		os.Exit(m.Run())
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "fencepost-cluster-")
	if err == nil {
		defer os.RemoveAll(dir)
		binary, err = cluster.Build(context.Background(), dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// start runs replicas over an empty database of a server of their own.
func start(t *testing.T, replicas int, o cluster.Options) (*cluster.Cluster, *postgres.Server) {
	t.Helper()
	if !*suites {
		t.Skip("takes minutes: make test-pg runs it, or -cluster")
	}
	server := postgres.Start(t)
	o.Binary, o.Database, o.Replicas = binary, server.Database(t), replicas
	return cluster.Start(t, o), server
}

// size is the short one of two, unless the suites run at their long sizes.
func size[T any](short, long T) T {
	if full {
		return long
	}
	return short
}

// seconds makes the text of a log.
func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
