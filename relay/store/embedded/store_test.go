package embedded_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
)

func TestStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		s, err := embedded.OpenFS(vfs.NewMem(), "data", embedded.Options{Now: now})
		require.NoError(t, err)
		return s
	})
}

// Without a cache every event comes back from its row.
func TestStoreKeepsTheContractOnDisk(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		s, err := embedded.Open(t.TempDir(), embedded.Options{Now: now, CacheBytes: 1})
		require.NoError(t, err)
		return s
	})
}

func TestCopiesAreTheSame(t *testing.T) {
	t.Parallel()
	storetest.RunCopies(t, func(t *testing.T, now func() time.Time) store.Store {
		s, err := embedded.OpenFS(vfs.NewMem(), "data", embedded.Options{Now: now})
		require.NoError(t, err)
		return s
	})
}

func TestStoreAgreesWithTheFake(t *testing.T) {
	t.Parallel()
	for name, cacheBytes := range map[string]int64{"cached": 0, "uncached": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.RunModel(t, func(t *testing.T, now func() time.Time) store.Store {
				s, err := embedded.OpenFS(vfs.NewMem(), "data", embedded.Options{Now: now, CacheBytes: cacheBytes})
				require.NoError(t, err)
				return s
			})
		})
	}
}
