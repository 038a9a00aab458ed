package kv_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/fence/kv"
	"fencepost/regress/dapr"
)

// A store may hold anything under the key of a stream: it is refused, or read as what it
// is written as again.
func FuzzRecord(f *testing.F) {
	m := dapr.NewMemory(dapr.Atomic)
	e := kv.New(kv.Options{KV: m})
	_, err := e.Set(f.Context(), stream, change("", "one", true))
	require.NoError(f, err)
	value, _, err := m.Get(f.Context(), "fencepost-stream-"+stream.Owner+"-"+stream.Name)
	require.NoError(f, err)
	f.Add(value)
	f.Add([]byte(`{"fence":"","pending":[{"key":"a","id":"b"}],"drainer":"x","locked":1,"touched":2,"revision":"r"}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, value []byte) {
		once, err := kv.ReadRecord(value)
		if err != nil {
			return
		}
		twice, err := kv.ReadRecord(once)
		require.NoError(t, err)
		// Revisions are random and come last.
		require.Equal(t, len(once), len(twice))
		require.Equal(t, string(once[:len(once)-40]), string(twice[:len(twice)-40]))
	})
}
