package postgres_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// contents returns what a store answers, and its hint.
func contents(t *testing.T, s *postgres.Store, f nostr.Filter) (texts []string, hint wire.Hint) {
	t.Helper()
	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, snap.Close()) }()
	rows, err := snap.Query(t.Context(), []*wire.Filter{wire.NewFilter(f)}, store.QueryOptions{MaxLimit: 100, DefaultLimit: 100})
	require.NoError(t, err)
	texts = []string{}
	for {
		page, err := rows.Next(t.Context(), nil, 10)
		for _, r := range page {
			texts = append(texts, r.Event.Content)
		}
		if errors.Is(err, io.EOF) {
			return texts, rows.Hint()
		}
		require.NoError(t, err)
	}
}

// damage makes the wire form of the event at a position unreadable.
func damage(t *testing.T, url, positions string) {
	t.Helper()
	run(t, url, `UPDATE events SET raw = '{' WHERE position IN (`+positions+`)`)
}

// Whoever asks for what is readable gets it.
func TestADamagedEventIsLeftOutOfAnswers(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{})
	var events []*wire.Event
	for i, text := range []string{"old word", "damaged word", "new word"} {
		e := storetest.Draft{Key: 1, Kind: 1, At: int64(i + 1), Content: text, Tags: nostr.Tags{{"t", "x"}}}.Event()
		require.NoError(t, write(t, s, store.Write{Event: e}).Err)
		events = append(events, e)
	}
	damage(t, url, "2")
	key, ids := storetest.Key(1), []string{events[0].ID, events[1].ID, events[2].ID}
	for name, f := range map[string]nostr.Filter{
		"time": {}, "kind": {Kinds: []int{1}}, "author": {Authors: []string{key}}, "tag": {Tags: nostr.TagMap{"t": {"x"}}},
		"ids": {IDs: ids}, "search": {Search: "word"},
	} {
		texts, hint := contents(t, s, f)
		require.ElementsMatch(t, []string{"new word", "old word"}, texts, name)
		require.Equal(t, wire.HintFinish, hint, name)
		f.Limit = 2
		texts, hint = contents(t, s, f)
		require.Len(t, texts, 2, "it takes nobody's place: %s", name)
		require.Equal(t, wire.HintFinish, hint, name)
	}
	require.NotZero(t, s.Damaged())

	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, snap.Close()) }()
	n, exact, err := snap.Count(t.Context(), []*wire.Filter{wire.NewFilter(nostr.Filter{})}, 10, func(*wire.Event) bool { return true })
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.True(t, exact)
	found, err := snap.Prefixed(t.Context(), events[1].ID, 1)
	require.NoError(t, err)
	require.Empty(t, found)
}

// What has expired goes, also when it cannot be read, and what is due behind it. Nobody
// is told of it: who may know cannot be told either.
func TestADamagedEventThatExpiresIsSwept(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	now := time.Unix(1_700_000_000, 0)
	s := reopen(t, url, postgres.Options{Now: func() time.Time { return now }, SnapshotAge: time.Microsecond})
	expiring := func(text string) *wire.Event {
		tags := nostr.Tags{{"expiration", "1700000010"}, {"h", "secret"}}
		return storetest.Draft{Key: 1, Kind: 1, At: 1_700_000_000, Content: text, Tags: tags}.Event()
	}
	again := expiring("damaged")
	for _, e := range []*wire.Event{again, expiring("whole"), note(1, "stays")} {
		require.NoError(t, write(t, s, store.Write{Event: e}).Err)
	}
	damage(t, url, "1")
	now = now.Add(time.Minute)
	n, err := s.Sweep(t.Context(), now)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	rows, err := s.ReadLog(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Equal(t, map[store.Position]string{1: "void", 2: "void", 3: "stays", 4: "removal of whole"}, told(rows, map[store.Position]string{2: "whole"}))
	require.Equal(t, store.PrefixOf(again), rows[0].Prefix, "a token for its position still holds")
	texts, _ := contents(t, s, nostr.Filter{Kinds: []int{1}})
	require.Equal(t, []string{"stays"}, texts)
	_, err = s.Sweep(t.Context(), now)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 0}, []int{count(t, url, "events"), count(t, url, "search"), count(t, url, "tags")})
	require.NotZero(t, s.Damaged())
}

// told says what rows are, of removals by what was at their target.
func told(rows []store.Entry, was map[store.Position]string) map[store.Position]string {
	out := make(map[store.Position]string)
	for _, e := range rows {
		switch {
		case e.Type == store.EntryVoid:
			out[e.Position] = "void"
		case e.Removal != nil:
			out[e.Position] = "removal of " + was[e.Removal.Target]
		default:
			out[e.Position] = e.Event.Content
		}
	}
	return out
}

// A key that vanishes leaves nothing, and a damaged event of somebody else stays.
func TestADamagedEventIsErased(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{})
	of := func(key, kind int, tags ...nostr.Tag) *wire.Event {
		return storetest.Draft{Key: key, Kind: kind, At: 5, Content: "x", Tags: tags}.Event()
	}
	for _, e := range []*wire.Event{
		of(1, 1), of(1, 7), of(2, 1), of(2, store.KindGiftWrap, nostr.Tag{"p", storetest.Key(1)}), of(1, store.KindVanish, nostr.Tag{"relay", "ALL_RELAYS"}),
		of(2, 7, nostr.Tag{"h", "group"}), of(2, 8, nostr.Tag{"h", "other"}),
	} {
		require.NoError(t, write(t, s, store.Write{Event: e}).Err)
	}
	damage(t, url, "1, 3, 4, 5, 6, 7")
	for _, x := range []store.Erasure{{Author: storetest.Key(1), Until: 9, Cause: store.CauseVanished}, {Group: "group", Cause: store.CauseOperator}} {
		erased, err := s.Erase(t.Context(), x, 100)
		require.NoError(t, err)
		again, err := s.Erase(t.Context(), x, 100)
		require.NoError(t, err)
		require.Zero(t, again, "nothing is left")
		require.Equal(t, map[string]int{"": 3, "group": 1}[x.Group], erased)
	}
	require.Equal(t, []int64{3, 5, 7}, positions(t.Context(), t, url))
}

// positions returns where the stored events are.
func positions(ctx context.Context, t *testing.T, url string) (all []int64) {
	t.Helper()
	query(ctx, t, url, `SELECT array_agg(position ORDER BY position) FROM events WHERE gone IS NULL`, &all)
	return all
}
