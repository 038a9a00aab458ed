package storetest

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var termCases = map[string]func(t *testing.T, s *subject){
	"a scope that moved refuses": func(t *testing.T, s *subject) {
		n := notes(0, 3)
		under := func(e *wire.Event, terms ...store.Term) store.Outcome {
			return s.write(store.Write{Event: e, Terms: terms})
		}
		require.NoError(t, under(n[0], store.Term{Scope: "relay"}, store.Term{Scope: Key(1)}).Err)
		s.write(store.Write{Controls: []store.Control{control("", "relay"), control("", Key(1), "g:x")}})
		moved := func(at store.Position) store.Outcome { return store.Outcome{Position: at, Err: store.ErrMoved} }
		require.Equal(t, moved(2), under(n[1], store.Term{Scope: "relay"}))
		require.Equal(t, moved(2), under(n[1], store.Term{Scope: "relay", Epoch: 1}))
		require.Equal(t, moved(2), under(n[1], store.Term{Scope: "relay", Epoch: 3}))
		require.Equal(t, moved(0), under(n[1], store.Term{Scope: "g:y", Epoch: 3}))
		require.Equal(t, moved(3), under(n[1], store.Term{Scope: Key(1)}, store.Term{Scope: "relay"}), "the latest of them")
		require.Equal(t, moved(3), under(n[1], store.Term{Scope: "relay", Epoch: 2}, store.Term{Scope: "g:x", Epoch: 2}))
		require.Len(t, s.log(), 3)
		fits := []store.Term{{Scope: "relay", Epoch: 2}, {Scope: Key(1), Epoch: 3}, {Scope: "g:x", Epoch: 3}, {Scope: "g:y"}}
		require.Equal(t, store.Outcome{Position: 4, Last: 4}, under(n[1], fits...))
		require.Equal(t, moved(3), s.write(store.Write{Terms: []store.Term{{Scope: "g:x"}}, Controls: []store.Control{control("", "g:y")}}))
		require.Equal(t, store.Outcome{Position: 5, Last: 5}, under(n[2], fits...))
	},
	"a row without scopes moves nothing": func(t *testing.T, s *subject) {
		s.write(store.Write{Controls: []store.Control{control("join")}})
		require.NoError(t, s.write(store.Write{Event: notes(0, 1)[0], Terms: []store.Term{{Scope: ""}, {Scope: "relay"}}}).Err)
	},
	"terms see the writes before them in one call": func(t *testing.T, s *subject) {
		n := notes(0, 3)
		out := s.Append(t.Context(), []store.Write{
			{Event: n[0], Terms: []store.Term{{Scope: "relay"}}},
			{Controls: []store.Control{control("", "relay")}, Terms: []store.Term{{Scope: "relay"}}},
			{Event: n[1], Terms: []store.Term{{Scope: "relay"}}},
			{Event: n[2], Terms: []store.Term{{Scope: "relay", Epoch: 2}}},
		})
		require.Equal(t, []store.Outcome{
			{Position: 1, Last: 1},
			{Position: 2, Last: 2},
			{Position: 2, Err: store.ErrMoved},
			{Position: 3, Last: 3},
		}, out)
	},
	"a duplicate comes before a moved term, other refusals after": func(t *testing.T, s *subject) {
		n := notes(0, 2)
		deletion := Draft{Kind: 5, At: start, Tags: nostr.Tags{{"e", n[1].ID}}}.Event()
		s.put(n[0], deletion, Draft{Kind: 0, At: 100}.Event())
		s.write(store.Write{Controls: []store.Control{control("", "relay")}, Ban: []string{notes(2, 1)[0].ID}})
		old := []store.Term{{Scope: "relay"}}
		require.Equal(t, store.Outcome{Position: 1, Err: store.ErrDuplicate}, s.write(store.Write{Event: n[0], Terms: old}))
		for _, e := range []*wire.Event{
			n[1], notes(2, 1)[0], expiring(1, "1"), Draft{Kind: 0, At: 99}.Event(), Draft{Kind: 20001, At: start}.Event(),
		} {
			require.Equal(t, store.Outcome{Position: 4, Err: store.ErrMoved}, s.write(store.Write{Event: e, Terms: old}))
		}
	},
	"scopes of any length and byte": func(t *testing.T, s *subject) {
		scopes := []string{"", "\x00", "\xff", "g:" + strings.Repeat("x", 4000) + "a", "g:" + strings.Repeat("x", 4000) + "b"}
		for i, scope := range scopes {
			require.Equal(t, store.Position(i+1), s.write(store.Write{Controls: []store.Control{control("", scope)}}).Position)
		}
		for i, scope := range scopes {
			out := s.write(store.Write{Event: notes(0, 1)[0], Terms: []store.Term{{Scope: scope}}})
			require.Equal(t, store.Outcome{Position: store.Position(i + 1), Err: store.ErrMoved}, out)
		}
	},
	"control rows are read without the rest": func(t *testing.T, s *subject) {
		controls := func(after store.Position, limit int) (at []store.Position) {
			rows, err := s.ReadControl(t.Context(), after, limit)
			require.NoError(t, err)
			for _, r := range rows {
				requireControl(t, r, control("row", "relay"))
				at = append(at, r.Position)
			}
			return at
		}
		newest := func() store.Position {
			info, err := s.Log(t.Context())
			require.NoError(t, err)
			return info.Control
		}
		require.Empty(t, controls(0, 9))
		require.Zero(t, newest())
		for i := range 3 {
			s.write(store.Write{Event: notes(i, 1)[0], Controls: []store.Control{control("row", "relay")}})
		}
		s.put(notes(9, 1)...)
		require.Equal(t, []store.Position{2, 4, 6}, controls(0, 9))
		require.Equal(t, []store.Position{2, 4}, controls(1, 2))
		require.Equal(t, []store.Position{4, 6}, controls(2, 2))
		require.Empty(t, controls(0, 0))
		for _, after := range []store.Position{6, 7, 8, 1<<64 - 1} {
			require.Empty(t, controls(after, 9))
		}
		require.Equal(t, store.Position(6), newest())
	},
	"control rows stay and are no events": func(t *testing.T, s *subject) {
		requireQuiet(t, s)
		s.write(store.Write{Controls: []store.Control{control("row", "relay")}})
		requireWake(t, s)
		s.pass(1000)
		require.Zero(t, s.sweep())
		s.holds()
		requireControl(t, s.log()[0], control("row", "relay"))
		require.Equal(t, store.Position(1), s.snapshot().Applied())
	},
}
