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

func TestStoreKeepsTheContractOnDisk(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		s, err := embedded.Open(t.TempDir(), embedded.Options{Now: now})
		require.NoError(t, err)
		return s
	})
}

func TestStoreAgreesWithTheFake(t *testing.T) {
	t.Parallel()
	storetest.RunModel(t, func(t *testing.T, now func() time.Time) store.Store {
		s, err := embedded.OpenFS(vfs.NewMem(), "data", embedded.Options{Now: now})
		require.NoError(t, err)
		return s
	})
}
