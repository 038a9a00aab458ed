package embedded_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
)

func TestUnfinishedCopyIsNotServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openDir(t, dir)
	part := store.Copying{Token: "part"}
	put := func(c store.Copied) {
		require.NoError(t, s.Append(background, []store.Write{{Copied: &c}})[0].Err)
	}
	put(store.Copied{After: part, Rows: []store.Entry{{Type: store.EntryEvent, Event: note(1)}}})
	require.NoError(t, s.Close())
	_, err := embedded.Open(dir, embedded.Options{})
	require.ErrorIs(t, err, store.ErrCopying)

	s, err = embedded.Open(dir, embedded.Options{Copying: true})
	require.NoError(t, err)
	put(store.Copied{Before: part, After: store.Copying{Token: "all", Done: true}})
	require.NoError(t, s.Close())
	s = openDir(t, dir)
	require.Equal(t, []string{note(1).ID}, storedIDs(t, s))
	require.NoError(t, s.Close())
}
