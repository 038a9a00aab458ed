package embedded_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"fencepost/relay/store/embedded"
)

// otherProcess names the folder that this binary, started again by a test, opens
// instead of running tests.
const otherProcess = "FENCEPOST_TEST_OPEN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(otherProcess); dir != "" {
		_, err := embedded.Open(dir, embedded.Options{})
		fmt.Println(err)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
