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

func TestDeadLettersAreKept(t *testing.T) {
	t.Parallel()
	storetest.RunLetters(t, func(t *testing.T) store.Letters {
		s, err := embedded.OpenFS(vfs.NewMem(), "data", embedded.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	})
}

func TestDeadLettersSurviveARestart(t *testing.T) {
	t.Parallel()
	fs, l := vfs.NewMem(), store.DeadLetter{Position: 7, Replica: "a", Attempts: 5, Class: "panic", At: time.UnixMicro(1)}
	s, err := embedded.OpenFS(fs, "data", embedded.Options{})
	require.NoError(t, err)
	require.NoError(t, s.PutDeadLetter(t.Context(), l))
	require.NoError(t, s.Close())
	_, err = s.DeadLetters(t.Context(), 1)
	require.ErrorIs(t, err, store.ErrClosed)
	require.ErrorIs(t, s.PutDeadLetter(t.Context(), l), store.ErrClosed)

	s, err = embedded.OpenFS(fs, "data", embedded.Options{})
	require.NoError(t, err)
	kept, err := s.DeadLetters(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, []store.DeadLetter{l}, kept)
	require.NoError(t, s.Close())
}

// A row that cannot be read is told as such, with what can be told, and the others
// come as they are (O9, O13).
func TestRowsThatCannotBeReadDoNotFailALog(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	s, err := embedded.OpenFS(fs, "data", embedded.Options{})
	require.NoError(t, err)
	profile := storetest.Draft{Key: 1, At: 1, Kind: 0}.Event()
	for _, e := range []storetest.Draft{{Key: 1, At: 1, Kind: 1}, {Key: 1, At: 1, Kind: 0}, {Key: 1, At: 3, Kind: 1}, {Key: 1, At: 4, Kind: 1}, {Key: 1, At: 5, Kind: 1}} {
		require.NoError(t, s.Append(t.Context(), []store.Write{{Event: e.Event()}})[0].Err)
	}
	require.NoError(t, s.Close())
	unsigned := []byte(`{"kind":0,"pubkey":"` + profile.PubKey + `","tags":[],"more":1}`)
	require.NoError(t, embedded.OverwriteRows(fs, "data", map[uint64][]byte{
		2: append([]byte{1}, unsigned...), 3: []byte("\x01no JSON"), 4: {9, 1, 2},
	}))

	s, err = embedded.OpenFS(fs, "data", embedded.Options{})
	require.NoError(t, err)
	rows, err := s.ReadLog(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, rows, 5)
	for i, want := range []struct {
		err       error
		kind      int
		aggregate string
	}{{}, {store.ErrDamaged, 0, "0:" + profile.PubKey}, {store.ErrDamaged, -1, ""}, {store.ErrNewer, -1, ""}, {}} {
		require.EqualValues(t, i+1, rows[i].Position)
		if want.err == nil {
			require.Nil(t, rows[i].Broken)
			require.NotNil(t, rows[i].Event)
			continue
		}
		require.Nil(t, rows[i].Event)
		require.ErrorIs(t, rows[i].Broken.Err, want.err)
		require.Equal(t, want.kind, rows[i].Broken.Kind)
		require.Equal(t, want.aggregate, rows[i].Aggregate())
	}
	require.NoError(t, s.Close())
}
