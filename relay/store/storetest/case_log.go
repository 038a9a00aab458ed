package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var logCases = map[string]func(t *testing.T, s *subject){
	"an empty log": func(t *testing.T, s *subject) {
		info, err := s.Log(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, info.Epoch)
		require.Equal(t, store.Position(1), info.Floor)
		require.Zero(t, info.Head)
		require.Empty(t, s.log())
		require.Zero(t, s.snapshot().Applied())
	},
	"a snapshot knows its newest control row": func(t *testing.T, s *subject) {
		require.Zero(t, s.snapshot().Control())
		s.put(notes(0, 1)...)
		out := s.Append(t.Context(), []store.Write{{Controls: []store.Control{{Scopes: []string{"relay"}, Data: []byte("{}")}}}})
		require.NoError(t, out[0].Err)
		s.put(notes(1, 1)...)
		before := s.snapshot()
		s.Append(t.Context(), []store.Write{{Controls: []store.Control{{Scopes: []string{"relay"}, Data: []byte("{}")}}}})
		require.Equal(t, out[0].Position, before.Control())
		require.Equal(t, store.Position(4), s.snapshot().Control())
	},
	"rows come after a position, at most so many": func(t *testing.T, s *subject) {
		n := notes(0, 5)
		s.append(n...)
		rows, err := s.ReadLog(t.Context(), 2, 2)
		require.NoError(t, err)
		require.Len(t, rows, 2)
		require.Equal(t, store.Entry{
			Position: 3, Type: store.EntryEvent, Event: rows[0].Event, Prefix: store.PrefixOf(n[2]),
		}, rows[0])
		require.Equal(t, string(n[2].Raw()), string(rows[0].Event.Raw()))
		for _, after := range []store.Position{5, 6, 1 << 60} {
			rows, err = s.ReadLog(t.Context(), after, 10)
			require.NoError(t, err)
			require.Empty(t, rows)
		}
		info, err := s.Log(t.Context())
		require.NoError(t, err)
		require.Equal(t, store.Position(5), info.Head)
	},
	"a log longer than memory is read from its start": func(t *testing.T, s *subject) {
		var want []string
		for round := range 12 {
			batch := notes(1000*round, 500)
			s.append(batch...)
			want = append(want, ids(batch)...)
		}
		var got []string
		for after := store.Position(0); ; {
			rows, err := s.ReadLog(t.Context(), after, 700)
			require.NoError(t, err)
			if len(rows) == 0 {
				break
			}
			for _, r := range rows {
				require.Equal(t, after+1, r.Position)
				got, after = append(got, r.Event.ID), r.Position
			}
		}
		require.Equal(t, want, got)
	},
	"commits wake, refusals do not": func(t *testing.T, s *subject) {
		n := notes(0, 2)
		requireQuiet(t, s)
		s.put(n...)
		requireWake(t, s)
		requireQuiet(t, s)
		s.refuse(store.ErrDuplicate, n[0])
		requireQuiet(t, s)
		s.put(Draft{Kind: 20001}.Event())
		requireWake(t, s)
		s.pass(60)
		require.Equal(t, 1, s.sweep())
		requireWake(t, s)
	},
	"the epoch stays": func(t *testing.T, s *subject) {
		before, err := s.Log(t.Context())
		require.NoError(t, err)
		s.put(notes(0, 1)...)
		after, err := s.Log(t.Context())
		require.NoError(t, err)
		require.Equal(t, before.Epoch, after.Epoch)
	},
}

var closeCases = map[string]func(t *testing.T, s *subject){
	"later calls fail": func(t *testing.T, s *subject) {
		n := notes(0, 2)
		s.put(n[0])
		snap := s.snapshot()
		rows, err := snap.Query(t.Context(), []*wire.Filter{}, store.QueryOptions{})
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.NoError(t, s.Close(), "a second Close does nothing")
		require.ErrorIs(t, s.append(n[1])[0].Err, store.ErrClosed)
		_, err = s.Snapshot(t.Context())
		require.ErrorIs(t, err, store.ErrClosed)
		_, err = s.ReadLog(t.Context(), 0, 1)
		require.ErrorIs(t, err, store.ErrClosed)
		_, err = s.Log(t.Context())
		require.ErrorIs(t, err, store.ErrClosed)
		_, err = s.Sweep(t.Context(), s.now())
		require.ErrorIs(t, err, store.ErrClosed)
		_, err = s.ReadControl(t.Context(), 0, 1)
		require.ErrorIs(t, err, store.ErrClosed)
		_, err = s.Erase(t.Context(), store.Erasure{Group: "x"}, 1)
		require.ErrorIs(t, err, store.ErrClosed)
		_, err = rows.Next(t.Context(), nil, 1)
		require.ErrorIs(t, err, store.ErrClosed)
		_, _, err = snap.Count(t.Context(), nil, 0, nil)
		require.ErrorIs(t, err, store.ErrClosed)
		require.NoError(t, rows.Close())
		require.NoError(t, snap.Close())
	},
	"snapshots and rows close twice and late": func(t *testing.T, s *subject) {
		s.put(notes(0, 3)...)
		snap := s.snapshot()
		rows, err := snap.Query(t.Context(), []*wire.Filter{}, store.QueryOptions{})
		require.NoError(t, err)
		require.NoError(t, snap.Close())
		require.NoError(t, snap.Close())
		require.NoError(t, rows.Close())
		require.NoError(t, rows.Close())
		_, err = snap.Query(t.Context(), nil, store.QueryOptions{})
		require.ErrorIs(t, err, store.ErrClosed)
	},
}

// requireWake and requireQuiet look at once: a commit wakes before it answers.
func requireWake(t *testing.T, s *subject) {
	t.Helper()
	select {
	case _, ok := <-s.Changed():
		require.True(t, ok)
	default:
		require.Fail(t, "no wake-up")
	}
}

func requireQuiet(t *testing.T, s *subject) {
	t.Helper()
	select {
	case <-s.Changed():
		require.Fail(t, "a wake-up without a commit")
	default:
	}
}
