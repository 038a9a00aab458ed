package session_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/registry/session"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	storetest.RunSessions(t, func(*testing.T) store.Sessions { return session.NewMemory(time.Now) })
}

// Anybody may ask for presence, so a question must not cost what all others have.
func TestAKeyIsFoundAmongManyAtTheCostOfItsOwnSessions(t *testing.T) {
	m := session.NewMemory(time.Now)
	report := store.SessionReport{Node: session.NewNode("n")}
	for n := range uint64(1000) {
		report.Open = append(report.Open, store.SessionOpen{Conn: n, Key: fmt.Sprintf("%064x", n)})
	}
	_, err := m.Report(t.Context(), report)
	require.NoError(t, err)
	key := report.Open[7].Key
	const questions = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range questions {
		found, err := m.OfKeys(t.Context(), time.Now(), []string{key, key}, 5)
		require.NoError(t, err)
		require.Len(t, found, 1, "once, however often it is asked for")
	}
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/questions, uint64(16<<10), "bytes, a thousand sessions have 200 KiB")
}
