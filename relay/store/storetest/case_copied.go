package storetest

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var copiedCases = map[string]func(t *testing.T, s *subject){
	"what is stored is read in position order": func(t *testing.T, s *subject) {
		n := notes(0, 4)
		old, version := Draft{Kind: 0, At: 1}.Event(), Draft{Kind: 0, At: 2}.Event()
		s.put(n[0], old)
		s.decree("one")
		s.put(n[1], version, Draft{Kind: 20001}.Event(), n[2])
		s.decree("two")
		s.ban(n[1])
		s.put(n[3])
		all := []string{n[0].ID, "one", version.ID, n[2].ID, "two", n[3].ID}
		for _, page := range []int{1, 2, 3, 100} {
			require.Equal(t, all, names(s.allStored(page)), "pages of %d", page)
		}
		for _, r := range s.allStored(2) {
			row, err := s.ReadLog(t.Context(), r.Position-1, 1)
			require.NoError(t, err)
			require.Equal(t, names(row), names([]store.Entry{r}))
			require.Equal(t, row[0].Prefix, r.Prefix)
		}
	},
	"what retention took from the log is read all the same": func(t *testing.T, s *subject) {
		n := notes(0, 4)
		s.put(n[0])
		s.decree("one")
		s.put(n[1:]...)
		_, err := s.Trim(t.Context(), store.Retention{Rows: 1}, s.now())
		require.NoError(t, err)
		require.Equal(t, []string{n[0].ID, "one", n[1].ID, n[2].ID, n[3].ID}, names(s.allStored(2)))
	},
	"marks are read by kind and key": func(t *testing.T, s *subject) {
		want := s.leaveMarks()
		for _, page := range []int{1, 2, 100} {
			require.Equal(t, want, s.allMarks(page), "pages of %d", page)
		}
	},
	"copied rows are stored as they are": func(t *testing.T, s *subject) {
		n := notes(0, 2)
		newer, older := Draft{Kind: 0, At: 2}.Event(), Draft{Kind: 0, At: 3, Key: 1}.Event()
		request := Draft{Kind: 5, At: start + 1, Tags: nostr.Tags{{"e", n[0].ID}, {"e", n[1].ID}}}.Event()
		late := expiring(1, "1700000010")
		rows := []store.Entry{
			stored(77, n[0]), stored(78, newer), controlRow(79, "a", "relay"), stored(90, request), stored(91, older), stored(95, late),
			controlRow(99, "b"),
		}
		s.pass(10)
		require.Equal(t, store.Outcome{Position: 1, Last: 7}, s.copy(store.Copying{}, store.Copying{Token: "x", Done: true}, rows, nil))
		require.Equal(t, names(rows), names(s.log()))
		s.holds(request, n[0], older, newer)
		require.Empty(t, s.allMarks(10), "a request that was carried out elsewhere is not carried out here")
		require.Equal(t, 1, s.sweep(), "what has expired is due")
		s.refuse(store.ErrDuplicate, n[0])
		s.refuse(store.ErrSuperseded, Draft{Kind: 0, At: 1}.Event())
		s.answers(nostr.Filter{Authors: []string{Key(1)}}, older)
		require.Equal(t, store.Outcome{Position: 3, Err: store.ErrMoved}, s.write(store.Write{
			Event: n[1], Terms: []store.Term{{Scope: "relay", Epoch: 0}},
		}), "epochs follow from control rows")
		require.NoError(t, s.write(store.Write{Event: n[1], Terms: []store.Term{{Scope: "relay", Epoch: 3}}}).Err)
		info, err := s.Log(t.Context())
		require.NoError(t, err)
		require.Equal(t, store.Position(7), info.Control)
	},
	"copied marks refuse what they refused": func(t *testing.T, s *subject) {
		source := s.fake()
		marks := source.leaveMarks()
		s.copy(store.Copying{}, store.Copying{Token: "x", Done: true}, nil, marks)
		require.Equal(t, marks, s.allMarks(3))
		for _, r := range markedRefusals {
			source.refuse(r.err, r.event())
			s.refuse(r.err, r.event())
		}
		s.put(Draft{Kind: 30023, At: start + 1, Tags: nostr.Tags{{"d", longValues[8]}}}.Event())
		banned := notes(0, 5)[4]
		s.unban(banned)
		s.put(banned)
	},
	"what is not erased yet is copied as well": func(t *testing.T, s *subject) {
		e := Draft{Key: 2, Kind: 1, At: start + 5}.Event()
		marks := s.fake().leaveMarks()
		s.copy(store.Copying{}, store.Copying{Token: "x"}, nil, marks)
		s.copy(store.Copying{Token: "x"}, store.Copying{Token: "y", Done: true}, []store.Entry{stored(1, e)}, nil)
		s.holds(e)
		s.refuse(store.ErrDuplicate, e)
		require.Equal(t, marks, s.allMarks(100))
		n, err := s.Erase(t.Context(), store.Erasure{Author: e.PubKey, Until: start + 5, Cause: store.CauseVanished}, 10)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		s.refuse(store.ErrVanished, e)
	},
	"a mark of a stored id leaves the event": func(t *testing.T, s *subject) {
		e := notes(0, 1)[0]
		id, stranger := unhex(e.ID), unhex(Key(3))
		tomb := store.Mark{Kind: store.MarkTomb, Key: append(id[:], stranger[:]...)}
		s.copy(store.Copying{}, store.Copying{Token: "x", Done: true}, []store.Entry{stored(1, e)}, []store.Mark{tomb})
		s.holds(e)
		s.refuse(store.ErrDuplicate, e)
		require.Equal(t, []store.Mark{tomb}, s.allMarks(100))
	},
	"fences are copied, and their leases begin anew": func(t *testing.T, s *subject) {
		source := s.fake()
		source.claim("one", "", "first token of one")
		source.claim("one", "first token of one", "second token of one")
		source.claim("two", "", "token of two")
		marks := source.allMarks(1)
		require.Len(t, marks, 2)
		s.copy(store.Copying{}, store.Copying{Token: "x", Done: true}, nil, marks)
		require.Equal(t, marks, s.allMarks(1))
		for _, name := range []string{"one", "two"} {
			want, _, err := source.Fence(t.Context(), stream(name))
			require.NoError(t, err)
			got, now, err := s.Fence(t.Context(), stream(name))
			require.NoError(t, err)
			require.WithinDuration(t, now.Add(want.Lease), got.Until, time.Minute)
			want.Until, got.Until = time.Time{}, time.Time{}
			require.Equal(t, want, got)
		}
	},
	"a copy goes on where it ended, and nowhere else": func(t *testing.T, s *subject) {
		n := notes(0, 3)
		one, two := store.Copying{Token: "one"}, store.Copying{Token: "two"}
		require.Equal(t, store.Copying{}, s.copying())
		s.copy(store.Copying{}, one, []store.Entry{stored(5, n[0])}, nil)
		require.Equal(t, one, s.copying())
		again := store.Write{Copied: &store.Copied{After: one, Rows: []store.Entry{stored(5, n[0])}}}
		require.ErrorIs(t, s.write(again).Err, store.ErrCopy, "the answer was lost, and it is sent again")
		s.copy(one, two, []store.Entry{stored(6, n[1])}, nil)
		again.Copied.Before = one
		require.ErrorIs(t, s.write(again).Err, store.ErrCopy)
		s.copy(two, store.Copying{Token: "end", Done: true}, nil, nil)
		require.Equal(t, store.Copying{Token: "end", Done: true}, s.copying())
		s.holds(n[1], n[0])
		require.Len(t, s.log(), 2)
	},
	"a copy that is withdrawn was never begun": func(t *testing.T, s *subject) {
		n, one := notes(0, 2), store.Copying{Token: "one"}
		s.copy(store.Copying{}, one, nil, nil)
		s.copy(one, store.Copying{}, nil, nil)
		require.Equal(t, store.Copying{}, s.copying())
		again := store.Write{Copied: &store.Copied{Before: one}}
		require.ErrorIs(t, s.write(again).Err, store.ErrCopy)
		s.copy(store.Copying{}, one, []store.Entry{stored(5, n[0])}, nil)
		require.Equal(t, one, s.copying())
	},
	"a copy begins in an empty store only": func(t *testing.T, s *subject) {
		n := notes(0, 2)
		s.put(n[0])
		w := store.Write{Copied: &store.Copied{After: store.Copying{Token: "x"}, Rows: []store.Entry{stored(1, n[1])}}}
		require.ErrorIs(t, s.write(w).Err, store.ErrCopy)
		s.holds(n[0])
		require.Equal(t, store.Copying{}, s.copying())
	},
	"what no store holds is refused": func(t *testing.T, s *subject) {
		after := store.Copying{Token: "x"}
		for name, c := range map[string]store.Copied{
			"no token":           {},
			"an end of nothing":  {Before: store.Copying{Token: "x"}, After: store.Copying{Done: true}},
			"rows without token": {Before: store.Copying{Token: "x"}, Rows: []store.Entry{stored(1, notes(0, 1)[0])}},
			"after the end":      {Before: store.Copying{Token: "x", Done: true}, After: after},
			"a void":             {After: after, Rows: []store.Entry{{Type: store.EntryVoid}}},
			"an event without":   {After: after, Rows: []store.Entry{{Type: store.EntryEvent}}},
			"an ephemeral event": {After: after, Rows: []store.Entry{{Type: store.EntryEphemeral, Event: notes(0, 1)[0]}}},
			"a mark of no kind":  {After: after, Marks: []store.Mark{{Key: make([]byte, 32)}}},
			"an unknown mark":    {After: after, Marks: []store.Mark{{Kind: 7, Key: make([]byte, 32)}}},
			"a fence of nothing": {After: after, Marks: []store.Mark{{Kind: store.MarkFence, Key: make([]byte, 33)}}},
			"half an id":         {After: after, Marks: []store.Mark{{Kind: store.MarkBan, Key: make([]byte, 16)}}},
			"a tomb of nobody":   {After: after, Marks: []store.Mark{{Kind: store.MarkTomb, Key: make([]byte, 32)}}},
			"a short text":       {After: after, Marks: []store.Mark{{Kind: store.MarkGroup, Key: append([]byte{2, 'a'}, make([]byte, 32)...)}}},
			"no text":            {After: after, Marks: []store.Mark{{Kind: store.MarkAddress, Key: make([]byte, 34)}}},
		} {
			require.Error(t, s.write(store.Write{Copied: &c}).Err, name)
		}
		require.Equal(t, store.Copying{}, s.copying())
		require.Empty(t, s.allMarks(10))
	},
}

// markedRefusals are what is refused after leaveMarks, each for its reason.
var markedRefusals = []struct {
	err   error
	event func() *wire.Event
}{
	{store.ErrDeleted, func() *wire.Event { return notes(0, 1)[0] }},
	{store.ErrDeleted, func() *wire.Event {
		return Draft{Kind: 30023, At: start, Tags: nostr.Tags{{"d", longValues[8]}}}.Event()
	}},
	{store.ErrDeleted, func() *wire.Event { return Draft{Kind: 10002, At: start}.Event() }},
	{store.ErrBanned, func() *wire.Event { return notes(0, 5)[4] }},
	{store.ErrVanished, func() *wire.Event { return Draft{Key: 2, Kind: 1, At: start + 5}.Event() }},
	{store.ErrVanished, func() *wire.Event { return Draft{Key: 1, Kind: 9, Tags: nostr.Tags{{"h", "short"}}}.Event() }},
	{store.ErrVanished, func() *wire.Event { return Draft{Key: 1, Kind: 9, Tags: nostr.Tags{{"h", longValues[9]}}}.Event() }},
	{store.ErrVanished, func() *wire.Event { return Draft{Key: 3, Kind: 39000, Tags: nostr.Tags{{"d", longValues[9]}}}.Event() }},
}

// leaveMarks makes the store refuse something by each kind of mark, and returns all marks
// in order.
func (s *subject) leaveMarks() []store.Mark {
	s.t.Helper()
	deleted, banned := notes(0, 1)[0], notes(0, 5)[4]
	s.put(Draft{Kind: 5, At: start, Tags: nostr.Tags{
		{"e", deleted.ID},
		{"a", store.Address(30023, Key(0), longValues[8])},
		{"a", store.Address(10002, Key(0), "")},
	}}.Event())
	s.ban(banned)
	for _, x := range []store.Erasure{
		{Author: Key(2), Until: start + 5},
		{Author: Key(2), Until: start},
		{Group: "short"},
		{Group: longValues[9], Self: Key(3)},
	} {
		require.NoError(s.t, s.write(store.Write{Erase: &x}).Err)
	}
	id, ban, author, vanished, self, nobody := unhex(deleted.ID), unhex(banned.ID), unhex(Key(0)), unhex(Key(2)), unhex(Key(3)), [32]byte{}
	return []store.Mark{
		{Kind: store.MarkTomb, Key: append(id[:], author[:]...)},
		{Kind: store.MarkAddress, Key: store.AddressKey(10002, author, ""), Until: start},
		{Kind: store.MarkAddress, Key: store.AddressKey(30023, author, longValues[8]), Until: start},
		{Kind: store.MarkBan, Key: ban[:]},
		{Kind: store.MarkKey, Key: vanished[:], Until: start + 5},
		{Kind: store.MarkGroup, Key: append(store.AppendText(nil, "short"), nobody[:]...)},
		{Kind: store.MarkGroup, Key: append(store.AppendText(nil, longValues[9]), self[:]...)},
	}
}

// Copyable is what package transfer asks of a store beside Append and Log.
type Copyable interface {
	ReadStored(ctx context.Context, after store.Position, limit int) ([]store.Entry, error)
	ReadMarks(ctx context.Context, after store.Mark, limit int) ([]store.Mark, error)
	Copying(ctx context.Context) (store.Copying, error)
}

// allStored reads all that ReadStored gives, in pages.
func (s *subject) allStored(page int) []store.Entry {
	s.t.Helper()
	return allStored(s.t, s.Store, page)
}

func allStored(t require.TestingT, from store.Store, page int) (all []store.Entry) {
	for after := store.Position(0); ; {
		rows, err := from.(Copyable).ReadStored(context.Background(), after, page)
		require.NoError(t, err)
		if len(rows) == 0 {
			return all
		}
		require.LessOrEqual(t, len(rows), page)
		for _, r := range rows {
			require.Greater(t, r.Position, after)
			all, after = append(all, r), r.Position
		}
	}
}

// allMarks reads all marks, in pages.
func (s *subject) allMarks(page int) []store.Mark {
	s.t.Helper()
	return allMarks(s.t, s.Store, page)
}

func allMarks(t require.TestingT, from store.Store, page int) (all []store.Mark) {
	for after := (store.Mark{}); ; {
		marks, err := from.(Copyable).ReadMarks(context.Background(), after, page)
		require.NoError(t, err)
		if len(marks) == 0 {
			return all
		}
		require.LessOrEqual(t, len(marks), page)
		for _, m := range marks {
			require.Positive(t, m.Compare(after))
			all, after = append(all, m), m
		}
	}
}

func (s *subject) copying() store.Copying {
	s.t.Helper()
	c, err := s.Store.(Copyable).Copying(s.t.Context())
	require.NoError(s.t, err)
	return c
}

// copy writes a part and requires that it is taken.
func (s *subject) copy(before, after store.Copying, rows []store.Entry, marks []store.Mark) store.Outcome {
	s.t.Helper()
	out := s.write(store.Write{Copied: &store.Copied{Before: before, After: after, Rows: rows, Marks: marks}})
	require.NoError(s.t, out.Err)
	return out
}

func (s *subject) decree(data string, scopes ...string) {
	s.t.Helper()
	require.NoError(s.t, s.write(store.Write{Controls: []store.Control{{Scopes: scopes, Data: []byte(data)}}}).Err)
}

// fake returns a subject that is a fake with the clock of s.
func (s *subject) fake() *subject { return &subject{Store: NewFake(s.now), t: s.t} }

func stored(at store.Position, e *wire.Event) store.Entry {
	return store.Entry{Position: at, Type: store.EntryEvent, Event: e, Prefix: store.PrefixOf(e)}
}

func controlRow(at store.Position, data string, scopes ...string) store.Entry {
	return store.Entry{Position: at, Type: store.EntryControl, Control: &store.Control{Scopes: scopes, Data: []byte(data)}}
}

// names returns the id of each event and the data of each control row.
func names(rows []store.Entry) (out []string) {
	for _, r := range rows {
		switch {
		case r.Control != nil:
			out = append(out, string(r.Control.Data))
		case r.Event != nil:
			out = append(out, r.Event.ID)
		default:
			out = append(out, "row of type "+strconv.Itoa(int(r.Type)))
		}
	}
	return out
}
