package storetest

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var banCases = map[string]func(t *testing.T, s *subject){
	"a banned id is removed and refused until it is unbanned": func(t *testing.T, s *subject) {
		n := notes(0, 3)
		s.put(n[0], n[1])
		s.ban(n[0], n[2])
		requireRemoval(t, s.log()[2], store.CauseOperator, 1, n[0])
		s.holds(n[1])
		s.refuse(store.ErrBanned, n[0])
		s.refuse(store.ErrBanned, n[2])
		s.ban(n[0])
		require.Len(t, s.log(), 3, "a second ban removes nothing")
		s.unban(n[0], n[2], n[1])
		s.holds(n[1])
		s.put(n[0], n[2])
		s.holds(n[2], n[1], n[0])
	},
	"ban and unban in one call": func(t *testing.T, s *subject) {
		n := notes(0, 1)[0]
		out := s.Append(t.Context(), []store.Write{
			{Event: n},
			{Ban: []string{n.ID}},
			{Event: n},
			{Unban: []string{n.ID}},
			{Event: n},
			{Ban: []string{n.ID}, Unban: []string{n.ID}},
			{Event: n},
		})
		require.Equal(t, []store.Outcome{
			{Position: 1, Last: 1}, {Last: 2}, {Err: store.ErrBanned}, {}, {Position: 3, Last: 3}, {Last: 4}, {Position: 5, Last: 5},
		}, out)
	},
	"the event of a write can be banned in it": func(t *testing.T, s *subject) {
		n := notes(0, 2)
		out := s.write(store.Write{Event: n[0], Also: n[1:], Ban: ids(n)})
		require.Equal(t, store.Outcome{Position: 1, Last: 4}, out)
		s.holds()
		s.refuse(store.ErrBanned, n[0])
		s.refuse(store.ErrBanned, n[1])
	},
	"what its author deleted stays deleted after a ban": func(_ *testing.T, s *subject) {
		n := notes(0, 2)
		s.put(n...)
		s.put(Draft{Kind: 5, At: start, Tags: nostr.Tags{{"e", n[0].ID}}}.Event())
		s.ban(n...)
		s.put(Draft{Kind: 5, At: start + 1, Tags: nostr.Tags{{"e", n[1].ID}}}.Event())
		s.refuse(store.ErrBanned, n[0])
		s.unban(n...)
		s.refuse(store.ErrDeleted, n[0])
		s.refuse(store.ErrDeleted, n[1])
	},
	"after a stranger's deletion and a ban an event may come back": func(_ *testing.T, s *subject) {
		n := notes(0, 1)
		stranger := Draft{Key: 1, Kind: 5, At: start, Tags: nostr.Tags{{"e", n[0].ID}}}.Event()
		s.put(stranger, n[0])
		s.ban(n...)
		s.refuse(store.ErrBanned, n[0])
		s.unban(n...)
		s.put(n[0])
		s.holds(stranger, n[0])
	},
	"a banned version makes room for an older one": func(_ *testing.T, s *subject) {
		older, newer := Draft{Kind: 0, At: 100}.Event(), Draft{Kind: 0, At: 200}.Event()
		s.put(newer)
		s.ban(newer)
		s.put(older)
		s.refuse(store.ErrBanned, newer)
		s.holds(older)
	},
	"requests can be banned, what they did stays": func(_ *testing.T, s *subject) {
		n := notes(0, 1)
		del := Draft{Kind: 5, At: start, Tags: nostr.Tags{{"e", n[0].ID}}}.Event()
		vanish := Draft{Kind: 62, At: start}.Event()
		s.put(n[0], del, vanish)
		s.ban(del, vanish)
		s.holds()
		s.refuse(store.ErrDeleted, n[0])
	},
	"a banned event is not swept again": func(t *testing.T, s *subject) {
		e := expiring(1, "1700000010")
		s.put(e)
		s.ban(e)
		s.pass(10)
		require.Zero(t, s.sweep())
		require.Len(t, s.log(), 2)
		s.refuse(store.ErrBanned, e)
	},
	"ephemeral events can be banned": func(_ *testing.T, s *subject) {
		e, other := Draft{Kind: 20001, At: 1}.Event(), Draft{Kind: 20001, At: 2}.Event()
		s.put(e)
		s.ban(e)
		s.refuse(store.ErrBanned, e)
		s.put(other)
		s.unban(e)
		s.put(e)
	},
}

func (s *subject) write(w store.Write) store.Outcome {
	s.t.Helper()
	return s.Append(s.t.Context(), []store.Write{w})[0]
}

func (s *subject) ban(events ...*wire.Event) {
	s.t.Helper()
	require.NoError(s.t, s.write(store.Write{Ban: ids(events)}).Err)
}

func (s *subject) unban(events ...*wire.Event) {
	s.t.Helper()
	require.NoError(s.t, s.write(store.Write{Unban: ids(events)}).Err)
}
