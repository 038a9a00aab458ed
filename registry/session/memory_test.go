package session_test

import (
	"testing"
	"time"

	"fencepost/registry/session"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	storetest.RunSessions(t, func(*testing.T) store.Sessions { return session.NewMemory(time.Now) })
}
