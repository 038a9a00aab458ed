package postgres_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
	"fencepost/relay/store/storetest"
)

func TestDeadLettersAreKept(t *testing.T) {
	t.Parallel()
	from := server.Start(t)
	storetest.RunLetters(t, func(t *testing.T) store.Letters { return open(t, from, postgres.Options{MaxConns: 3}) })
}

// A row that cannot be read is told as such, with what the database knows beside it,
// and the others come as they are (O9, O13).
func TestRowsThatCannotBeReadDoNotFailALog(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	_, err := postgres.Up(t.Context(), url)
	require.NoError(t, err)
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	profile, page := storetest.Draft{Key: 1, At: 1, Kind: 0}, storetest.Draft{Key: 1, At: 1, Kind: 30023, Tags: nostr.Tags{{"d", "x"}}}
	for _, d := range []storetest.Draft{{Key: 1, At: 1, Kind: 1}, profile, page, {Key: 1, At: 4, Kind: 1}, {Key: 1, At: 5, Kind: 1}} {
		require.NoError(t, s.Append(t.Context(), []store.Write{{Event: d.Event()}})[0].Err)
	}
	run(t, url, `UPDATE events SET raw = 'no JSON' WHERE position IN (2, 3)`)
	run(t, url, `UPDATE log SET version = 2 WHERE position = 4`)
	rows, err := s.ReadLog(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, rows, 5)
	key := storetest.Key(1)
	for i, want := range []struct {
		err       error
		kind      int
		aggregate string
	}{{}, {store.ErrDamaged, 0, "0:" + key}, {store.ErrDamaged, 30023, "30023:" + key + ":x"}, {store.ErrNewer, 1, ""}, {}} {
		require.EqualValues(t, i+1, rows[i].Position)
		if want.err == nil {
			require.Nil(t, rows[i].Broken)
			require.NotNil(t, rows[i].Event)
			continue
		}
		require.Nil(t, rows[i].Event)
		require.ErrorIs(t, rows[i].Broken.Err, want.err)
		require.Equal(t, want.kind, rows[i].Broken.Kind)
		require.Equal(t, key, rows[i].Broken.PubKey)
		require.Equal(t, want.aggregate, rows[i].Aggregate())
	}
}

// A control row of a newer program must not be passed over at the start (O16).
func TestNewerControlRowsAreNotRead(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	_, err := postgres.Up(t.Context(), url)
	require.NoError(t, err)
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	out := s.Append(t.Context(), []store.Write{{Controls: []store.Control{{Scopes: []string{"relay"}, Data: []byte("{}")}}}})
	require.NoError(t, out[0].Err)
	run(t, url, `UPDATE log SET version = 2`)
	_, err = s.ReadControl(t.Context(), 0, 10)
	require.ErrorIs(t, err, store.ErrNewer)
	rows, err := s.ReadLog(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Equal(t, store.EntryControl, rows[0].Type)
	require.ErrorIs(t, rows[0].Broken.Err, store.ErrNewer)
}
