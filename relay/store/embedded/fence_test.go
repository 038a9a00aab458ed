package embedded_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/fence"
	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
)

func TestFencesKeepTheContract(t *testing.T) {
	t.Parallel()
	storetest.RunFences(t, func(t *testing.T, now func() time.Time) store.Store {
		s, err := embedded.OpenFS(vfs.NewMem(), "data", embedded.Options{Now: now})
		require.NoError(t, err)
		return s
	})
}

// P7, P8: what a process knew of a fence is what the next one finds.
func TestFencesOutliveTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stream := fence.Stream{Owner: storetest.Key(0), Name: "a"}
	claim := &store.Fence{Stream: stream, Change: &fence.Change{New: fence.TokenOf("one"), Active: true, Lease: time.Hour}}
	frame := &store.Fence{Stream: stream, Token: fence.TokenOf("one")}
	for i := range 3 {
		s, err := embedded.Open(dir, embedded.Options{})
		require.NoError(t, err)
		out := s.Append(t.Context(), []store.Write{{Fence: claim}})
		require.Equal(t, i > 0, store.Refused(out[0].Err))
		out = s.Append(t.Context(), []store.Write{{Event: storetest.Draft{Kind: 1, At: int64(i)}.Event(), Fence: frame}})
		require.Equal(t, store.Frame{Epoch: 1, Number: uint64(i + 1)}, out[0].Frame)
		require.NoError(t, s.Close())
	}
}
