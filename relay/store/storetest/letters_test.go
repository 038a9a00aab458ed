package storetest_test

import (
	"testing"
	"time"

	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
)

func TestFakeKeepsDeadLetters(t *testing.T) {
	t.Parallel()
	storetest.RunLetters(t, func(*testing.T) store.Letters { return storetest.NewFake(time.Now) })
}
