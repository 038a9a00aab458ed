package storetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var eraseCases = map[string]func(t *testing.T, s *subject){
	"what a key erased is refused": func(_ *testing.T, s *subject) {
		s.remember(store.Erasure{Author: Key(1), Until: 100})
		for _, e := range byKey1(100) {
			s.refuse(store.ErrVanished, e)
		}
		s.put(byKey1(101)...)
		s.put(notByKey1()...)
	},
	"the latest time of a key counts": func(_ *testing.T, s *subject) {
		at := func(at int64) *wire.Event { return Draft{Key: 1, Kind: 1, At: at}.Event() }
		s.remember(store.Erasure{Author: Key(1), Until: 100})
		s.put(at(150))
		s.remember(store.Erasure{Author: Key(1), Until: 200})
		s.remember(store.Erasure{Author: Key(1), Until: 50})
		s.refuse(store.ErrVanished, at(151))
		s.refuse(store.ErrVanished, at(200))
		s.refuse(store.ErrDuplicate, at(150))
		s.put(at(201))
	},
	"what a group erased is refused": func(_ *testing.T, s *subject) {
		for _, group := range []string{"x", longValues[7], longValues[8], longValues[9]} {
			s.remember(store.Erasure{Group: group, Self: Key(9)})
			for _, e := range ofGroup(group) {
				s.refuse(store.ErrVanished, e)
			}
			s.put(notOfGroup(group)...)
		}
	},
	"a group without a key of the relay": func(_ *testing.T, s *subject) {
		s.remember(store.Erasure{Group: "x", Self: ""})
		s.refuse(store.ErrVanished, Draft{Kind: 9, At: 1, Tags: nostr.Tags{{"h", "x"}}}.Event())
		s.put(Draft{Key: 9, Kind: 39000, At: 1, Tags: nostr.Tags{{"d", "x"}}}.Event())
		s.remember(store.Erasure{Group: "x", Self: Key(9)})
		s.refuse(store.ErrVanished, Draft{Key: 9, Kind: 39001, At: 1, Tags: nostr.Tags{{"d", "x"}}}.Event())
	},
	"a write is not subject to its own erasure": func(t *testing.T, s *subject) {
		tags := nostr.Tags{{"h", "x"}}
		request, follows := Draft{Kind: 9008, At: 1, Tags: tags}.Event(), Draft{Key: 9, Kind: 9, At: 2, Tags: tags}.Event()
		next := Draft{Kind: 9, At: 3, Tags: tags}.Event()
		out := s.Append(t.Context(), []store.Write{
			{Event: request, Also: []*wire.Event{follows}, Erase: &store.Erasure{Group: "x"}},
			{Event: next},
		})
		require.Equal(t, []store.Outcome{{Position: 1, Last: 2}, {Err: store.ErrVanished}}, out)
		s.holds(follows, request)
	},
	"erase removes what a key says, newest first": func(t *testing.T, s *subject) {
		s.requireErased(t, store.Erasure{Author: Key(1), Until: 100, Cause: store.CauseVanished},
			slices.Concat(byKey1(100), byKey1(101), byKey1(99), notByKey1()))
	},
	"erase removes what belongs to a group, newest first": func(t *testing.T, s *subject) {
		for _, group := range []string{"x", longValues[8]} {
			s.requireErased(t, store.Erasure{Group: group, Self: Key(9), Cause: store.CauseOperator},
				slices.Concat(ofGroup(group), notOfGroup(group)))
		}
	},
	"erase stops at its bound and goes on": func(t *testing.T, s *subject) {
		n := notes(0, 5)
		s.put(n...)
		x := store.Erasure{Author: Key(0), Until: start + 3, Cause: store.CauseVanished}
		require.Zero(t, s.erase(x, 0))
		require.Equal(t, 2, s.erase(x, 2))
		s.holds(n[4], n[1], n[0])
		require.Equal(t, 2, s.erase(x, 3))
		require.Zero(t, s.erase(x, 3))
		s.holds(n[4])
		s.put(n[0])
	},
	"an erasure larger than one batch takes all": func(t *testing.T, s *subject) {
		s.append(notes(0, 1700)...)
		require.Equal(t, 1200, s.erase(store.Erasure{Author: Key(0), Until: start + 2000}, 1200))
		require.Equal(t, 500, s.erase(store.Erasure{Author: Key(0), Until: start + 2000}, 5000))
		s.holds()
		require.Len(t, s.log(), 3400)
	},
	"what expired is erased before the sweep comes": func(t *testing.T, s *subject) {
		s.put(expiring(1, "1700000010"))
		s.pass(20)
		require.Equal(t, 1, s.erase(store.Erasure{Author: Key(0), Until: start}, 5))
		require.Zero(t, s.sweep())
	},
	"ephemeral events are refused after an erasure": func(_ *testing.T, s *subject) {
		s.remember(store.Erasure{Author: Key(1), Until: 100})
		s.remember(store.Erasure{Group: "x"})
		s.refuse(store.ErrVanished, Draft{Key: 1, Kind: 20001, At: 100}.Event())
		s.refuse(store.ErrVanished, Draft{Kind: 20001, At: 100, Tags: nostr.Tags{{"h", "x"}}}.Event())
		s.put(Draft{Key: 1, Kind: 20001, At: 101}.Event(), Draft{Kind: 21059, At: 100, Tags: nostr.Tags{{"p", Key(1)}}}.Event())
	},
	"erasing wakes": func(t *testing.T, s *subject) {
		s.put(notes(0, 1)...)
		requireWake(t, s)
		require.Equal(t, 1, s.erase(store.Erasure{Author: Key(0), Until: start}, 5))
		requireWake(t, s)
	},
}

// byKey1 returns what an erasure of key 1 selects up to at.
func byKey1(at int64) []*wire.Event {
	return []*wire.Event{
		Draft{Key: 1, Kind: 1, At: at}.Event(),
		Draft{Key: 1, Kind: 5, At: at}.Event(),
		Draft{Key: 1, Kind: 30023, At: at, Tags: nostr.Tags{{"d", "x"}}}.Event(),
		Draft{Key: 1, Kind: 1, At: at, Tags: nostr.Tags{{"p", Key(1)}}}.Event(),
		Draft{Key: 1, Kind: 1059, At: at, Tags: nostr.Tags{{"p", Key(1)}}}.Event(),
		Draft{Key: 2, Kind: 1059, At: at, Tags: nostr.Tags{{"p", Key(3)}, {"p", Key(1)}, {"p", Key(1)}}}.Event(),
	}
}

func notByKey1() []*wire.Event {
	return []*wire.Event{
		Draft{Key: 1, Kind: 62, At: 50}.Event(),
		Draft{Key: 1, Kind: 62, At: 60, Tags: nostr.Tags{{"p", Key(1)}, {"h", "x"}}}.Event(),
		Draft{Key: 2, Kind: 1, At: 50, Tags: nostr.Tags{{"p", Key(1)}}}.Event(),
		Draft{Key: 2, Kind: 1059, At: 50, Tags: nostr.Tags{{"p", Key(3)}, {"P", Key(1)}, {"p", "x", Key(1)}}}.Event(),
		Draft{Key: 2, Kind: 1059, At: 50, Tags: nostr.Tags{{"p", strings.ToUpper(Key(1))}, {"p"}}}.Event(),
	}
}

// ofGroup returns what an erasure of group with the Self of key 9 selects.
func ofGroup(group string) []*wire.Event {
	return []*wire.Event{
		Draft{Kind: 9, At: 1, Tags: nostr.Tags{{"h", group}}}.Event(),
		Draft{Kind: 1, At: 1 << 40, Tags: nostr.Tags{{"h", "other"}, {"h", group, "y"}}}.Event(),
		Draft{Key: 9, Kind: 39000, At: 3, Tags: nostr.Tags{{"d", group}}}.Event(),
		Draft{Key: 9, Kind: 39009, At: 4, Tags: nostr.Tags{{"d", group}, {"h", group}}}.Event(),
	}
}

func notOfGroup(group string) []*wire.Event {
	return []*wire.Event{
		Draft{Kind: 9, At: 2, Tags: nostr.Tags{{"h", group + "x"}, {"H", group}, {"h"}, {"h", "y", group}}}.Event(),
		Draft{Key: 9, Kind: 39010, At: 2, Tags: nostr.Tags{{"d", group}}}.Event(),
		Draft{Key: 9, Kind: 38999, At: 2, Tags: nostr.Tags{{"d", group}}}.Event(),
		Draft{Key: 9, Kind: 39000, At: 2, Tags: nostr.Tags{{"d", group + "x"}}}.Event(),
		Draft{Key: 8, Kind: 39000, At: 2, Tags: nostr.Tags{{"d", group}}}.Event(),
		Draft{Kind: 62, At: 2, Tags: nostr.Tags{{"h", group}}}.Event(),
	}
}

// remember makes the store refuse what x selects.
func (s *subject) remember(x store.Erasure) {
	s.t.Helper()
	require.Equal(s.t, store.Outcome{}, s.write(store.Write{Erase: &x}))
}

func (s *subject) erase(x store.Erasure, limit int) int {
	s.t.Helper()
	n, err := s.Erase(s.t.Context(), x, limit)
	require.NoError(s.t, err)
	return n
}

// requireErased stores events, erases x and compares with a look at all of them.
func (s *subject) requireErased(t *testing.T, x store.Erasure, events []*wire.Event) {
	t.Helper()
	s.append(events...)
	stored, _ := s.query(store.QueryOptions{}, nostr.Filter{})
	var selected, rest []*wire.Event
	for _, e := range stored {
		if x.Selects(e) {
			selected = append(selected, e)
		} else {
			rest = append(rest, e)
		}
	}
	require.NotEmpty(t, selected)
	before := s.log()
	require.Equal(t, len(selected), s.erase(x, 1000))
	s.holds(rest...)
	rows := s.log()[len(before):]
	require.Len(t, rows, len(selected))
	for i, e := range selected {
		target := slices.IndexFunc(before, func(r store.Entry) bool { return r.Event != nil && r.Event.ID == e.ID })
		requireRemoval(t, rows[i], x.Cause, before[target].Position, e)
	}
}
