package storetest

import (
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// OpenDamageable is an Open with a second result: damage makes the stored form of events
// unreadable, which are given by their positions, and returns the store that holds them
// then: the same, or the same opened again.
type OpenDamageable func(t *testing.T, now func() time.Time) (s store.Store, damage Damage)

// Damage is what OpenDamageable returns.
type Damage func(events map[store.Position]*wire.Event) store.Store

// RunDamaged holds the stores that open makes to what the contract says of events that
// cannot be read. The fake has none.
func RunDamaged(t *testing.T, open OpenDamageable) {
	t.Helper()
	for name, run := range map[string]func(t *testing.T, s *patient){
		"is left out of answers":      damagedIsLeftOut,
		"goes when it has expired":    damagedExpires,
		"is erased":                   damagedIsErased,
		"fails only who names it":     damagedIsNamed,
		"is no obstacle to retention": damagedIsTrimmed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &patient{}
			p.subject = newSubject(t, func(t *testing.T, now func() time.Time) (s store.Store) {
				s, p.damage = open(t, now)
				return s
			})
			run(t, p)
			require.NotZero(t, p.Store.(interface{ Damaged() uint64 }).Damaged(), "it is counted")
		})
	}
}

// patient is a store of which something can be damaged.
type patient struct {
	*subject
	damage Damage
}

// spoil damages events that are stored.
func (p *patient) spoil(events ...*wire.Event) {
	p.t.Helper()
	at := make(map[store.Position]*wire.Event)
	for _, e := range p.log() {
		for _, damaged := range events {
			if e.Event != nil && e.Event.ID == damaged.ID {
				at[e.Position] = damaged
			}
		}
	}
	require.Len(p.t, at, len(events))
	p.Store = p.damage(at)
}

// types returns what the rows of the log are.
func (p *patient) types() (all []store.EntryType) {
	p.t.Helper()
	for _, e := range p.log() {
		all = append(all, e.Type)
	}
	return all
}

// Whoever asks for what is readable gets it.
func damagedIsLeftOut(t *testing.T, s *patient) {
	var events []*wire.Event
	for i, text := range []string{"old word", "damaged word", "new word"} {
		events = append(events, Draft{Key: 1, Kind: 1, At: int64(i + 1), Content: text, Tags: nostr.Tags{{"t", "x"}}}.Event())
	}
	s.put(events...)
	s.spoil(events[1])
	author, tag := []string{Key(1)}, nostr.TagMap{"t": {"x"}}
	for name, f := range map[string]nostr.Filter{
		"time": {}, "kind": {Kinds: []int{1}}, "author": {Authors: author}, "tag": {Tags: tag},
		"tag and author": {Authors: author, Tags: tag}, "ids": {IDs: ids(events)}, "search": {Search: "word"},
	} {
		for _, limit := range []int{0, 2} { // it takes nobody's place
			f.Limit = limit
			got, hint := s.query(store.QueryOptions{}, f)
			require.ElementsMatch(t, []string{events[0].ID, events[2].ID}, ids(got), name)
			require.Equal(t, wire.HintFinish, hint, name)
		}
	}
	snap := s.snapshot()
	n, exact, err := snap.Count(t.Context(), prepare([]nostr.Filter{{}}), 10, func(*wire.Event) bool { return true })
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.True(t, exact)
	found, err := snap.Prefixed(t.Context(), events[1].ID, 1)
	require.NoError(t, err)
	require.Empty(t, found)
	require.NoError(t, snap.Close())
}

// What is due behind it goes too. Nobody is told of it: who may know cannot be told either.
func damagedExpires(t *testing.T, s *patient) {
	expiring := func(text string) *wire.Event {
		tags := nostr.Tags{{"expiration", "1700000010"}, {"h", "secret"}}
		return Draft{Key: 1, Kind: 1, At: start, Content: text, Tags: tags}.Event()
	}
	damaged, whole, stays := expiring("damaged"), expiring("whole"), Draft{Key: 1, Kind: 1, At: 1}.Event()
	s.put(damaged, whole, stays)
	s.spoil(damaged)
	s.pass(60)
	require.Equal(t, 2, s.sweep())
	require.Zero(t, s.sweep())
	require.Equal(t, []store.EntryType{store.EntryVoid, store.EntryVoid, store.EntryEvent, store.EntryRemoval}, s.types())
	require.EqualValues(t, 2, s.log()[3].Removal.Target)
	got, _ := s.query(store.QueryOptions{}, nostr.Filter{Authors: []string{Key(1)}})
	require.Equal(t, ids([]*wire.Event{stays}), ids(got))
}

// A key that vanishes leaves nothing but its request, and what is somebody else's stays.
func damagedIsErased(t *testing.T, s *patient) {
	of := func(key, kind int, tags ...nostr.Tag) *wire.Event {
		return Draft{Key: key, Kind: kind, At: 5, Tags: tags}.Event()
	}
	events := []*wire.Event{
		of(1, 1), of(1, 7), of(2, store.KindGiftWrap, nostr.Tag{"p", Key(1)}), of(2, 7, nostr.Tag{"h", "group"}),
		of(2, 1), of(1, store.KindVanish, nostr.Tag{"relay", "ALL_RELAYS"}), of(2, 8, nostr.Tag{"h", "other"}),
	}
	s.put(events...)
	s.spoil(append(events[2:], events[0])...)
	key := store.Erasure{Author: Key(1), Until: 9, Cause: store.CauseVanished}
	require.Equal(t, 3, s.erase(key, 100))
	require.Zero(t, s.erase(key, 100), "nothing is left")
	group := store.Erasure{Group: "group", Cause: store.CauseOperator}
	require.Equal(t, 1, s.erase(group, 100))
	require.Zero(t, s.erase(group, 100))
	log := s.log()
	for i := range events {
		require.Equal(t, i < 4, log[i].Type == store.EntryVoid, "row %d", i+1)
	}
	require.Len(t, log, len(events)+1)
	require.EqualValues(t, 2, log[len(events)].Removal.Target, "of what can be read there is a removal")
}

// What is in one commit with a write that names it is stored.
func damagedIsNamed(t *testing.T, s *patient) {
	of := func(kind int, at int64, tags ...nostr.Tag) *wire.Event {
		return Draft{Key: 1, Kind: kind, At: at, Tags: tags}.Event()
	}
	profile, note, page, banned := of(0, 5), of(1, 5), of(30023, 5, nostr.Tag{"d", "x"}), of(1, 6)
	s.put(profile, note, page, banned)
	s.spoil(profile, note, page, banned)
	before, replaces, behind := of(7, 7), of(0, 6), of(7, 8)
	out := s.Append(t.Context(), []store.Write{
		{Event: before},
		{Event: replaces},
		{Event: of(5, 7, nostr.Tag{"e", note.ID})},
		{Event: of(5, 8, nostr.Tag{"a", "30023:" + Key(1) + ":x"})},
		{Ban: []string{banned.ID}},
		{Event: behind},
	})
	for _, i := range []int{0, 1, 5} {
		require.NoError(t, out[i].Err)
	}
	got, _ := s.query(store.QueryOptions{}, nostr.Filter{Kinds: []int{0, 1, 7, 30023}})
	require.Equal(t, ids([]*wire.Event{behind, before, replaces}), ids(got))
}

func damagedIsTrimmed(t *testing.T, s *patient) {
	damaged, stays := Draft{Key: 1, Kind: 1, At: 1}.Event(), Draft{Key: 1, Kind: 1, At: 2}.Event()
	s.put(damaged, stays)
	s.spoil(damaged)
	for range 2 {
		got, _ := s.query(store.QueryOptions{}, nostr.Filter{})
		require.Equal(t, ids([]*wire.Event{stays}), ids(got))
		floor, err := s.Trim(t.Context(), store.Retention{Rows: 1}, s.now())
		require.NoError(t, err)
		require.EqualValues(t, 2, floor)
	}
}
