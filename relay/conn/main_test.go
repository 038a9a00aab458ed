package conn_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain doubles as the relay of BenchmarkIdle, which must be a process of its
// own so that the clients' memory does not count.
func TestMain(m *testing.M) {
	if os.Getenv(idleServer) != "" {
		serveIdle()
		return
	}
	goleak.VerifyTestMain(m)
}
