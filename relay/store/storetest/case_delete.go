package storetest

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
)

var deleteCases = map[string]func(t *testing.T, s *subject){
	"a request removes its author's event and forbids its return": func(t *testing.T, s *subject) {
		n := notes(0, 2)
		del := Draft{Kind: 5, At: start + 50, Tags: nostr.Tags{{"e", n[0].ID}}}.Event()
		s.put(n...)
		require.Equal(t, store.Outcome{Position: 3, Last: 4}, s.append(del)[0])
		s.refuse(store.ErrDeleted, n[0])
		s.holds(del, n[1])
		rows := s.log()
		require.Len(t, rows, 4)
		require.Equal(t, store.Entry{
			Position: 1, Type: store.EntryVoid, Void: store.VoidRemoved, Prefix: store.PrefixOf(n[0]),
		}, rows[0])
		require.Equal(t, del.ID, rows[2].Event.ID)
		requireRemoval(t, rows[3], store.CauseDeleted, 1, n[0])
	},
	"a request that comes first still holds": func(_ *testing.T, s *subject) {
		n := notes(0, 1)[0]
		del := Draft{Kind: 5, At: start - 50, Tags: nostr.Tags{{"e", n.ID}}}.Event()
		s.put(del)
		s.refuse(store.ErrDeleted, n)
		s.holds(del)
	},
	"request and target in one batch, in both orders": func(t *testing.T, s *subject) {
		n := notes(0, 2)
		first := Draft{Kind: 5, At: start + 10, Tags: nostr.Tags{{"e", n[0].ID}}}.Event()
		last := Draft{Kind: 5, At: start + 11, Tags: nostr.Tags{{"e", n[1].ID}}}.Event()
		out := s.append(first, n[0], n[1], last, n[1])
		require.ErrorIs(t, out[1].Err, store.ErrDeleted)
		require.NoError(t, out[2].Err)
		require.ErrorIs(t, out[4].Err, store.ErrDeleted)
		s.holds(last, first)
		rows := s.log()
		require.Equal(t, []store.EntryType{
			store.EntryEvent, store.EntryVoid, store.EntryEvent, store.EntryRemoval,
		}, types(rows))
		requireRemoval(t, rows[3], store.CauseDeleted, 2, n[1])
	},
	"another author's request has no effect": func(_ *testing.T, s *subject) {
		n := notes(0, 2)
		s.put(n[0])
		del := Draft{Key: 1, Kind: 5, At: start + 50, Tags: nostr.Tags{
			{"e", n[0].ID}, {"e", n[1].ID}, {"a", "30000:" + Key(0) + ":x"},
		}}.Event()
		article := Draft{Kind: 30000, At: start + 2, Tags: nostr.Tags{{"d", "x"}}}.Event()
		s.put(del, n[1], article)
		s.holds(del, article, n[1], n[0])
	},
	"deleting a deletion has no effect": func(_ *testing.T, s *subject) {
		n := notes(0, 1)[0]
		early := Draft{Kind: 5, At: start + 1, Tags: nostr.Tags{{"e", n.ID}}}.Event()
		late := Draft{Kind: 5, At: start + 3, Tags: nostr.Tags{{"e", "00"}}}.Event()
		undo := Draft{Kind: 5, At: start + 2, Tags: nostr.Tags{{"e", early.ID}, {"e", late.ID}}}.Event()
		s.put(n, early, undo, late)
		s.holds(late, undo, early)
		s.refuse(store.ErrDeleted, n)
	},
	"a tag deletes the versions up to the request": func(_ *testing.T, s *subject) {
		tags := nostr.Tags{{"d", "with:colons:"}}
		at := func(at int64) Draft { return Draft{Kind: 30023, At: at, Tags: tags} }
		a := nostr.Tags{{"a", "30023:" + Key(0) + ":with:colons:"}}
		s.put(at(100).Event())
		del := Draft{Kind: 5, At: 100, Tags: a}.Event()
		s.put(del)
		s.holds(del)
		s.refuse(store.ErrDeleted, at(100).Event())
		s.refuse(store.ErrDeleted, at(99).Event())
		newer := at(101).Event()
		s.put(newer)
		earlier := Draft{Kind: 5, At: 50, Tags: a}.Event()
		s.put(earlier)
		s.refuse(store.ErrDeleted, at(100).Event())
		s.holds(newer, del, earlier)
	},
	"a tag of a replaceable kind": func(_ *testing.T, s *subject) {
		list := Draft{Kind: 10002, At: 100, Tags: nostr.Tags{{"d", "ignored"}}}.Event()
		profile := Draft{Kind: 0, At: 100}.Event()
		del := Draft{Kind: 5, At: 100, Tags: nostr.Tags{{"a", "10002:" + Key(0) + ":"}}}.Event()
		s.put(list, profile, del)
		s.refuse(store.ErrDeleted, list)
		s.answers(nostr.Filter{Kinds: []int{0, 10002}}, profile)
	},
	"malformed tags are ignored": func(_ *testing.T, s *subject) {
		n := notes(0, 1)[0]
		article := Draft{Kind: 30000, At: start + 1, Tags: nostr.Tags{{"d", "x"}}}.Event()
		list := Draft{Kind: 10002, At: start + 2}.Event()
		s.put(n, article, list)
		pk := Key(0)
		del := Draft{Kind: 5, At: start + 9, Tags: nostr.Tags{
			{"e"},
			{"e", ""},
			{"e", n.ID[:63]},
			{"e", n.ID + "0"},
			{"e", "Z" + n.ID[1:]},
			{"E", n.ID},
			{"a"},
			{"a", ""},
			{"a", "30000"},
			{"a", "30000:" + pk},
			{"a", "030000:" + pk + ":x"},
			{"a", "+30000:" + pk + ":x"},
			{"a", "10002:" + pk + ":x"},
			{"a", "10002:" + pk},
			{"a", "1:" + pk + ":"},
			{"a", "99999999999999999999:" + pk + ":x"},
			{"a", "30000:" + Key(1) + ":x"},
			{"a", ":" + pk + ":x"},
		}}.Event()
		s.put(del)
		s.holds(del, list, article, n)
	},
	"one request with several targets removes in tag order": func(t *testing.T, s *subject) {
		n := notes(0, 3)
		article := Draft{Kind: 30000, At: start, Tags: nostr.Tags{{"d", "x"}}}.Event()
		s.put(append(n, article)...)
		del := Draft{Kind: 5, At: start + 50, Tags: nostr.Tags{
			{"e", n[2].ID}, {"a", "30000:" + Key(0) + ":x"}, {"e", n[0].ID}, {"e", n[2].ID}, {"e", article.ID},
		}}.Event()
		require.Equal(t, store.Position(5), s.append(del)[0].Position)
		rows := s.log()
		require.Len(t, rows, 8)
		requireRemoval(t, rows[5], store.CauseDeleted, 3, n[2])
		requireRemoval(t, rows[6], store.CauseDeleted, 4, article)
		requireRemoval(t, rows[7], store.CauseDeleted, 1, n[0])
		s.holds(del, n[1])
	},
	"a recipient deletes its gift wrap": func(_ *testing.T, s *subject) {
		wrap := Draft{Key: 7, Kind: 1059, At: 100, Tags: nostr.Tags{{"p", Key(1)}}}.Event()
		later := Draft{Key: 8, Kind: 1059, At: 101, Tags: nostr.Tags{{"p", "no key"}, {"p", Key(1)}}}.Event()
		note := Draft{Key: 7, Kind: 1, At: 102, Tags: nostr.Tags{{"p", Key(1)}}}.Event()
		s.put(wrap, note)
		stranger := Draft{Key: 2, Kind: 5, At: 103, Tags: nostr.Tags{{"e", wrap.ID}, {"e", later.ID}}}.Event()
		s.put(stranger)
		s.holds(stranger, note, wrap)
		del := Draft{Key: 1, Kind: 5, At: 104, Tags: nostr.Tags{{"e", wrap.ID}, {"e", note.ID}, {"e", later.ID}}}.Event()
		s.put(del)
		s.holds(del, stranger, note)
		s.refuse(store.ErrDeleted, wrap)
		s.refuse(store.ErrDeleted, later)
	},
	"after a deletion an older version may come": func(_ *testing.T, s *subject) {
		older := Draft{Kind: 0, At: 100}.Event()
		newer := Draft{Kind: 0, At: 200}.Event()
		del := Draft{Kind: 5, At: 300, Tags: nostr.Tags{{"e", newer.ID}}}.Event()
		s.put(newer, del, older)
		s.refuse(store.ErrDeleted, newer)
		s.holds(del, older)
	},
	"what was forbidden stays so after the request expired": func(_ *testing.T, s *subject) {
		n := notes(0, 1)[0]
		del := Draft{Kind: 5, At: start, Tags: nostr.Tags{{"e", n.ID}, {"expiration", "1700000010"}}}.Event()
		s.put(del)
		s.pass(10)
		s.sweep()
		s.holds()
		s.refuse(store.ErrDeleted, n)
	},
}
