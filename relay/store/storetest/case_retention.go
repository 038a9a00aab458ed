package storetest

import (
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var retentionCases = map[string]func(t *testing.T, s *subject){
	"nothing is trimmed without a bound": func(t *testing.T, s *subject) {
		require.Equal(t, store.Position(1), s.trim(store.Retention{}))
		s.put(notes(0, 5)...)
		require.Equal(t, store.Position(1), s.trim(store.Retention{}))
		require.Equal(t, store.Position(1), s.trim(store.Retention{Rows: 5}))
		require.Equal(t, store.Position(1), s.trim(store.Retention{Age: time.Minute}))
		require.Len(t, s.log(), 5)
	},
	"all but the newest rows go, and below the floor nothing is read": func(t *testing.T, s *subject) {
		n := notes(0, 6)
		s.put(n...)
		require.Equal(t, store.Position(5), s.trim(store.Retention{Rows: 2}))
		s.floor(5)
		rows := s.log()
		require.Len(t, rows, 2)
		require.Equal(t, n[4].ID, rows[0].Event.ID)
		require.Equal(t, store.Position(5), s.trim(store.Retention{Rows: 2}), "again")
		require.Equal(t, store.Position(5), s.trim(store.Retention{Rows: 4}), "a floor never sinks")
	},
	"rows go when they are old enough": func(t *testing.T, s *subject) {
		keep := store.Retention{Age: 100 * time.Second}
		s.put(notes(0, 2)...)
		require.Equal(t, store.Position(1), s.trim(keep))
		s.pass(60)
		s.put(notes(10, 2)...)
		require.Equal(t, store.Position(1), s.trim(keep))
		s.pass(39)
		require.Equal(t, store.Position(1), s.trim(keep))
		s.pass(1)
		require.Equal(t, store.Position(3), s.trim(keep))
		s.pass(59)
		require.Equal(t, store.Position(3), s.trim(keep))
		s.pass(1)
		require.Equal(t, store.Position(5), s.trim(keep), "the whole log")
		s.floor(5)
		require.Empty(t, s.log())
		out := s.append(notes(20, 1)...)
		require.Equal(t, store.Position(5), out[0].Position)
		require.Len(t, s.log(), 1)
	},
	"many trims remember the times that matter": func(t *testing.T, s *subject) {
		keep := store.Retention{Age: 10 * time.Second}
		for i := range 40 {
			s.put(notes(i, 1)...)
			floor := s.trim(keep)
			require.Equal(t, store.Position(max(i-8, 1)), floor, "a row a second")
			s.pass(1)
		}
	},
	"stored events stay where they are": func(t *testing.T, s *subject) {
		first := Draft{Kind: 0, At: 100, Tags: nostr.Tags{{"t", "x"}}}.Event()
		brief := expiring(1, "1700000010")
		doomed := notes(50, 1)[0]
		s.put(first, brief, doomed)
		s.put(notes(0, 3)...)
		require.Equal(t, store.Position(6), s.trim(store.Retention{Rows: 1}))
		s.answers(nostr.Filter{Tags: nostr.TagMap{"t": {"x"}}}, first)
		s.answers(nostr.Filter{IDs: []string{doomed.ID}}, doomed)
		require.Equal(t, store.Outcome{Position: 1, Err: store.ErrDuplicate}, s.append(first)[0])

		newer := Draft{Kind: 0, At: 200}.Event()
		s.put(newer, Draft{Kind: 5, At: start, Tags: nostr.Tags{{"e", doomed.ID}}}.Event())
		s.refuse(store.ErrSuperseded, first)
		s.pass(10)
		require.Equal(t, 1, s.sweep(), "what expires is swept below the floor too")
		rows := s.log()
		require.Equal(t, []store.EntryType{
			store.EntryEvent, store.EntryEvent, store.EntryEvent, store.EntryRemoval, store.EntryRemoval,
		}, types(rows))
		requireRemoval(t, rows[3], store.CauseDeleted, 3, doomed)
		requireRemoval(t, rows[4], store.CauseExpired, 2, brief)
		s.answers(nostr.Filter{Kinds: []int{0}}, newer)
		s.floor(6)
	},
	"control rows are kept for ever": func(t *testing.T, s *subject) {
		for range 3 {
			require.NoError(t, s.write(store.Write{Controls: []store.Control{{Scopes: []string{"relay"}, Data: []byte("x")}}}).Err)
			s.put(Draft{Kind: 1, At: s.seconds.Add(1)}.Event())
		}
		require.Equal(t, store.Position(6), s.trim(store.Retention{Rows: 1}))
		require.Len(t, s.log(), 1)
		rows, err := s.ReadControl(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Len(t, rows, 3)
		require.Equal(t, store.Position(1), rows[0].Position)
		info, err := s.Log(t.Context())
		require.NoError(t, err)
		require.Equal(t, store.Position(5), info.Control)
	},
	"the floor waits for the sweep of ephemeral events": func(t *testing.T, s *subject) {
		s.put(notes(0, 1)...)
		s.put(Draft{Kind: 20001}.Event())
		s.put(notes(1, 3)...)
		require.Equal(t, store.Position(2), s.trim(store.Retention{Rows: 1}))
		s.pass(60)
		require.Equal(t, 1, s.sweep())
		require.Equal(t, store.Position(5), s.trim(store.Retention{Rows: 1}))
		require.Zero(t, s.sweep())
	},
	"more than one commit takes": func(t *testing.T, s *subject) {
		s.append(notes(0, 2500)...)
		s.append(notes(3000, 2500)...)
		n, err := s.Erase(t.Context(), store.Erasure{Author: Key(0), Until: start + 3000, Cause: store.CauseOperator}, 10_000)
		require.NoError(t, err)
		require.Equal(t, 2501, n)
		require.Equal(t, store.Position(7492), s.trim(store.Retention{Rows: 10}))
		s.floor(7492)
		require.Len(t, s.log(), 10)
		count, _ := s.count(0, nostr.Filter{})
		require.Equal(t, 2499, count)
	},
	"a snapshot finds what it found before": func(t *testing.T, s *subject) {
		n := notes(0, 3)
		s.put(n...)
		snap := s.snapshot()
		s.trim(store.Retention{Rows: 1})
		got, _ := ask(t, snap, store.QueryOptions{}, nostr.Filter{})
		require.Equal(t, ids([]*wire.Event{n[2], n[1], n[0]}), ids(got))
		require.NoError(t, snap.Close())
	},
}

// trim trims at the subject's time.
func (s *subject) trim(keep store.Retention) store.Position {
	s.t.Helper()
	floor, err := s.Trim(s.t.Context(), keep, s.now())
	require.NoError(s.t, err)
	return floor
}

// floor requires that the log can be read from want on and not from before.
func (s *subject) floor(want store.Position) {
	s.t.Helper()
	info, err := s.Log(s.t.Context())
	require.NoError(s.t, err)
	require.Equal(s.t, want, info.Floor)
	_, err = s.ReadLog(s.t.Context(), want-1, 1)
	require.NoError(s.t, err)
	for _, after := range []store.Position{0, want - 2} {
		_, err = s.ReadLog(s.t.Context(), after, 1)
		require.ErrorIs(s.t, err, store.ErrFloor)
	}
}
