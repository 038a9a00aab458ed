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

func TestStoreThatSearchesKeepsTheContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		s, err := embedded.OpenFS(vfs.NewMem(), "data", embedded.Options{Now: now, Search: true})
		require.NoError(t, err)
		require.True(t, s.Searches())
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
	for name, opt := range map[string]embedded.Options{"cached": {}, "uncached": {CacheBytes: 1}, "searching": {Search: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.RunModel(t, func(t *testing.T, now func() time.Time) store.Store {
				opt := opt
				opt.Now = now
				s, err := embedded.OpenFS(vfs.NewMem(), "data", opt)
				require.NoError(t, err)
				return s
			})
		})
	}
}
