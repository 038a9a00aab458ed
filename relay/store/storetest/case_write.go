package storetest

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var writeCases = map[string]func(t *testing.T, s *subject){
	"an empty write does nothing": func(t *testing.T, s *subject) {
		require.Equal(t, store.Outcome{}, s.write(store.Write{}))
		require.Empty(t, s.log())
	},
	"rows take positions in one order": func(t *testing.T, s *subject) {
		n := notes(0, 3)
		s.put(n[0], n[1])
		del := Draft{Kind: 5, At: start, Tags: nostr.Tags{{"e", n[0].ID}}}.Event()
		also := notes(10, 2)
		out := s.write(store.Write{
			Event: del, Also: also, Ban: []string{n[1].ID, n[2].ID},
			Controls: []store.Control{control("one", "relay"), control("two")},
		})
		require.Equal(t, store.Outcome{Position: 3, Last: 9}, out)
		rows := s.log()
		require.Equal(t, []store.EntryType{
			store.EntryVoid, store.EntryVoid, store.EntryEvent, store.EntryRemoval, store.EntryControl, store.EntryControl,
			store.EntryEvent, store.EntryEvent, store.EntryRemoval,
		}, types(rows))
		requireRemoval(t, rows[3], store.CauseDeleted, 1, n[0])
		require.Equal(t, ids(also), []string{rows[6].Event.ID, rows[7].Event.ID})
		requireControl(t, rows[4], control("one", "relay"))
		requireControl(t, rows[5], control("two"))
		requireRemoval(t, rows[8], store.CauseOperator, 2, n[1])
		s.holds(also[1], also[0], del)
	},
	"controls need no event": func(t *testing.T, s *subject) {
		s.put(notes(0, 1)...)
		out := s.write(store.Write{Also: notes(5, 1), Controls: []store.Control{control("a", "x"), control("b", "y")}})
		require.Equal(t, store.Outcome{Position: 2, Last: 4}, out)
		require.Equal(t, store.Outcome{Position: 5, Last: 5}, s.write(store.Write{Controls: []store.Control{{}}}))
		require.Equal(t, store.Outcome{Last: 6}, s.write(store.Write{Also: notes(6, 1)}))
	},
	"a refused event takes everything with it": func(t *testing.T, s *subject) {
		n := notes(0, 4)
		gone := Draft{Key: 1, Kind: 1, At: start}.Event()
		s.put(n[0], Draft{Kind: 0, At: 100}.Event(), Draft{Key: 1, Kind: 5, At: start, Tags: nostr.Tags{{"e", gone.ID}}}.Event())
		require.NoError(t, s.write(store.Write{Ban: []string{n[3].ID}, Erase: &store.Erasure{Author: Key(2), Until: start}}).Err)
		before := s.log()
		for want, e := range map[error]*wire.Event{
			store.ErrDuplicate:  n[0],
			store.ErrSuperseded: Draft{Kind: 0, At: 99}.Event(),
			store.ErrDeleted:    gone,
			store.ErrBanned:     n[3],
			store.ErrVanished:   Draft{Key: 2, Kind: 1, At: start}.Event(),
			store.ErrExpired:    expiring(1, "1"),
		} {
			out := s.write(store.Write{
				Event: e, Also: n[1:2], Controls: []store.Control{control("", "relay")},
				Ban: []string{n[0].ID, n[2].ID}, Unban: []string{n[3].ID}, Erase: &store.Erasure{Author: Key(3), Until: start},
			})
			require.ErrorIs(t, out.Err, want)
			require.Zero(t, out.Last)
		}
		require.Equal(t, before, s.log())
		s.refuse(store.ErrBanned, n[3])
		out := s.write(store.Write{Event: n[2], Also: n[1:2], Terms: []store.Term{{Scope: "relay"}}})
		require.Equal(t, store.Outcome{Position: 4, Last: 5}, out)
		s.put(Draft{Key: 3, Kind: 1, At: start}.Event())
	},
	"an event of the relay's that is refused is left out": func(t *testing.T, s *subject) {
		n := notes(0, 4)
		deleted, deletion := n[3], Draft{Kind: 5, At: start, Tags: nostr.Tags{{"e", n[3].ID}}}.Event()
		s.put(n[0], Draft{Kind: 0, At: 100}.Event(), deletion)
		require.NoError(t, s.write(store.Write{Ban: []string{n[1].ID}, Erase: &store.Erasure{Author: Key(2), Until: start}}).Err)
		newer, older := Draft{Kind: 10002, At: 101}.Event(), Draft{Kind: 10002, At: 100}.Event()
		out := s.write(store.Write{
			Event: n[2],
			Also: []*wire.Event{
				n[0], Draft{Kind: 0, At: 99}.Event(), n[1], deleted, expiring(1, "1"),
				Draft{Key: 2, Kind: 1, At: start}.Event(), newer, newer, older, n[2],
			},
			Controls: []store.Control{{}},
		})
		require.Equal(t, store.Outcome{Position: 4, Last: 6}, out)
		rows := s.log()
		require.Equal(t, []string{n[2].ID, newer.ID}, []string{rows[3].Event.ID, rows[5].Event.ID})
	},
	"a deletion of the relay's removes before what follows": func(t *testing.T, s *subject) {
		n := notes(0, 2)
		del := Draft{Kind: 5, At: start, Tags: nostr.Tags{{"e", n[0].ID}}}.Event()
		out := s.write(store.Write{Event: n[0], Also: []*wire.Event{del, n[1]}})
		require.Equal(t, store.Outcome{Position: 1, Last: 4}, out)
		requireRemoval(t, s.log()[2], store.CauseDeleted, 1, n[0])
		s.holds(n[1], del)
	},
	"what names nothing is an error": func(t *testing.T, s *subject) {
		n := notes(0, 1)
		for _, w := range []store.Write{
			{Ban: []string{""}},
			{Ban: []string{n[0].ID, n[0].ID[:63]}},
			{Unban: []string{"Z" + n[0].ID[1:]}},
			{Erase: &store.Erasure{Until: start}},
			{Erase: &store.Erasure{Author: "somebody", Until: start}},
		} {
			w.Event, w.Controls = n[0], []store.Control{control("", "relay")}
			require.Error(t, s.write(w).Err)
		}
		_, err := s.Erase(t.Context(), store.Erasure{Until: start}, 10)
		require.Error(t, err)
		require.Empty(t, s.log())
		s.put(n[0])
	},
}

// control makes a change that says text.
func control(text string, scopes ...string) store.Control {
	return store.Control{Scopes: scopes, Data: []byte(text)}
}

func requireControl(t *testing.T, row store.Entry, want store.Control) {
	t.Helper()
	require.Equal(t, store.EntryControl, row.Type)
	require.Equal(t, string(want.Data), string(row.Control.Data))
	require.Len(t, row.Control.Scopes, len(want.Scopes))
	for i, scope := range want.Scopes {
		require.Equal(t, scope, row.Control.Scopes[i])
	}
	rest := row
	rest.Control = nil
	require.Equal(t, store.Entry{Position: row.Position, Type: store.EntryControl}, rest)
}
