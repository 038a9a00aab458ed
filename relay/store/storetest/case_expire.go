package storetest

import (
	"strconv"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var expireCases = map[string]func(t *testing.T, s *subject){
	"an event that has expired is refused": func(_ *testing.T, s *subject) {
		s.refuse(store.ErrExpired, expiring(1, "1700000000"))
		s.refuse(store.ErrExpired, expiring(1, "0"))
		s.refuse(store.ErrExpired, expiring(20001, "1699999999"))
		s.refuse(store.ErrExpired, expiring(10002, "1"))
		s.holds()
	},
	"an expired event is not served before the sweep": func(t *testing.T, s *subject) {
		e := expiring(1, "1700000010")
		s.put(e)
		every := []nostr.Filter{
			{},
			{IDs: []string{e.ID}},
			{Kinds: []int{1}},
			{Authors: []string{Key(0)}},
			{Authors: []string{Key(0)}, Kinds: []int{1}},
			{Tags: nostr.TagMap{"t": {"brief"}}},
		}
		s.pass(9)
		for _, f := range every {
			s.answers(f, e)
		}
		open := s.snapshot()
		s.pass(1)
		got, _ := ask(t, open, store.QueryOptions{}, nostr.Filter{})
		require.Empty(t, got, "a snapshot has no time of its own")
		require.NoError(t, open.Close())
		for _, f := range every {
			s.answers(f)
		}
		s.refuse(store.ErrDuplicate, e)
	},
	"the sweep removes what expired, oldest first": func(t *testing.T, s *subject) {
		late, early := expiring(1, "1700000020"), expiring(1, "1700000010")
		stays := expiring(1, "1700000100")
		s.put(late, early, stays)
		require.Zero(t, s.sweep())
		s.pass(20)
		require.Equal(t, 2, s.sweep())
		require.Zero(t, s.sweep())
		rows := s.log()
		require.Equal(t, []store.EntryType{
			store.EntryVoid, store.EntryVoid, store.EntryEvent, store.EntryRemoval, store.EntryRemoval,
		}, types(rows))
		require.Equal(t, store.VoidRemoved, rows[0].Void)
		requireRemoval(t, rows[3], store.CauseExpired, 2, early)
		requireRemoval(t, rows[4], store.CauseExpired, 1, late)
		s.refuse(store.ErrExpired, early)
		s.holds(stays)
	},
	"the sweep voids ephemeral rows after a minute": func(t *testing.T, s *subject) {
		e := Draft{Kind: 20001, At: start}.Event()
		s.put(e)
		s.pass(30)
		s.put(Draft{Kind: 20002, At: start}.Event())
		s.pass(29)
		require.Zero(t, s.sweep())
		s.pass(1)
		require.Equal(t, 1, s.sweep())
		rows := s.log()
		require.Equal(t, store.Entry{
			Position: 1, Type: store.EntryVoid, Void: store.VoidEphemeral, Prefix: store.PrefixOf(e),
		}, rows[0])
		require.Equal(t, store.EntryEphemeral, rows[1].Type)
		s.pass(60)
		require.Equal(t, 1, s.sweep())
	},
	"the sweep leaves what was replaced or deleted before": func(t *testing.T, s *subject) {
		gone := expiring(1, "1700000010")
		replaced := expiring(0, "1700000010")
		s.put(gone, replaced, Draft{Kind: 0, At: start + 1}.Event())
		s.put(Draft{Kind: 5, At: start, Tags: nostr.Tags{{"e", gone.ID}}}.Event())
		before := len(s.log())
		s.pass(60)
		require.Zero(t, s.sweep())
		require.Len(t, s.log(), before)
	},
	"strange expirations have a defined answer": func(t *testing.T, s *subject) {
		var kept []*wire.Event
		for i, value := range []string{
			"1700000005000", "4102444800", "99999999999", "9223372036854775807", "9999999999999999999999",
			"soon", "", "-1", "1e9", "1700000000.5",
		} {
			e := Draft{Kind: 1, At: start - int64(i), Tags: nostr.Tags{{"expiration", value}}}.Event()
			s.put(e)
			kept = append(kept, e)
		}
		s.pass(1000)
		s.holds(kept...)
		require.Zero(t, s.sweep())
	},
	"a sweep larger than one batch takes all": func(t *testing.T, s *subject) {
		var batch []*wire.Event
		for i := range 1500 {
			tags := nostr.Tags{{"expiration", "1700000010"}, {"n", strconv.Itoa(i)}}
			batch = append(batch, Draft{Kind: 1, At: start, Tags: tags}.Event())
		}
		s.append(batch...)
		s.pass(10)
		require.Equal(t, 1500, s.sweep())
		s.holds()
		info, err := s.Log(t.Context())
		require.NoError(t, err)
		require.Equal(t, store.Position(3000), info.Head)
	},
}

func expiring(kind int, at string) *wire.Event {
	return Draft{Kind: kind, At: start, Tags: nostr.Tags{{"expiration", at}, {"t", "brief"}}}.Event()
}

func types(rows []store.Entry) []store.EntryType {
	out := make([]store.EntryType, len(rows))
	for i, r := range rows {
		out[i] = r.Type
	}
	return out
}

// requireRemoval checks a removal row and that it keeps only the header of e.
func requireRemoval(t *testing.T, row store.Entry, cause store.RemovalCause, target store.Position, e *wire.Event) {
	t.Helper()
	require.Equal(t, store.EntryRemoval, row.Type)
	require.Nil(t, row.Event)
	require.Equal(t, store.PrefixOf(e), row.Prefix)
	require.Equal(t, cause, row.Removal.Cause)
	require.Equal(t, target, row.Removal.Target)
	header := e.Event
	header.Content, header.Sig = "", ""
	require.Equal(t, header, row.Removal.Event.Event)
	require.Equal(t, string(wire.NewEvent(header).Raw()), string(row.Removal.Event.Raw()))
}
