package embedded_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// damaged opens a store that holds events, of which some are damaged.
func damaged(t *testing.T, opt embedded.Options, events []*wire.Event, rows map[uint64][]byte) *embedded.Store {
	t.Helper()
	fs := vfs.NewMem()
	s, err := embedded.OpenFS(fs, "data", opt)
	require.NoError(t, err)
	for _, e := range events {
		require.NoError(t, s.Append(t.Context(), []store.Write{{Event: e}})[0].Err)
	}
	require.NoError(t, s.Close())
	require.NoError(t, embedded.OverwriteRows(fs, "data", rows))
	s, err = embedded.OpenFS(fs, "data", opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// unsigned is e without its signature: damaged, and what it was can be told.
func unsigned(e *wire.Event) []byte { return bytes.Replace(e.Raw(), []byte(e.Sig), nil, 1) }

func body(b []byte) []byte { return append([]byte{byte(store.EntryEvent)}, b...) }

// contents returns what a store answers, and its hint.
func contents(t *testing.T, s *embedded.Store, f nostr.Filter) (texts []string, hint wire.Hint) {
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

// Whoever asks for what is readable gets it.
func TestADamagedEventIsLeftOutOfAnswers(t *testing.T) {
	t.Parallel()
	var events []*wire.Event
	for i, text := range []string{"old word", "damaged word", "new word"} {
		events = append(events, storetest.Draft{Key: 1, Kind: 1, At: int64(i + 1), Content: text, Tags: nostr.Tags{{"t", "x"}}}.Event())
	}
	for name, row := range map[string][]byte{"no JSON": body([]byte("{")), "no event": body(unsigned(events[1])), "empty": {}, "another type": {9, 1}} {
		s := damaged(t, embedded.Options{Search: true}, events, map[uint64][]byte{2: row})
		ids := []string{events[0].ID, events[1].ID, events[2].ID}
		for how, f := range map[string]nostr.Filter{
			"time": {}, "kind": {Kinds: []int{1}}, "author": {Authors: []string{storetest.Key(1)}}, "tag": {Tags: nostr.TagMap{"t": {"x"}}},
			"tag and author": {Authors: []string{storetest.Key(1)}, Tags: nostr.TagMap{"t": {"x"}}}, "ids": {IDs: ids}, "search": {Search: "word"},
		} {
			texts, hint := contents(t, s, f)
			require.ElementsMatch(t, []string{"new word", "old word"}, texts, name+how)
			require.Equal(t, wire.HintFinish, hint, name+how)
			f.Limit = 2
			texts, hint = contents(t, s, f)
			require.Len(t, texts, 2, "it takes nobody's place: %s", name+how)
			require.Equal(t, wire.HintFinish, hint, name+how)
		}
		require.NotZero(t, s.Damaged())
		snap, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		n, exact, err := snap.Count(t.Context(), []*wire.Filter{wire.NewFilter(nostr.Filter{})}, 10, func(*wire.Event) bool { return true })
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.True(t, exact)
		found, err := snap.Prefixed(t.Context(), events[1].ID, 1)
		require.NoError(t, err)
		require.Empty(t, found)
		require.NoError(t, snap.Close())
	}
}

// What has expired goes, also when it cannot be read, and what is due behind it. Nobody
// is told of it: who may know cannot be told either.
func TestADamagedEventThatExpiresIsSwept(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	opt := embedded.Options{Now: func() time.Time { return now }, Search: true}
	expiring := func(text string) *wire.Event {
		tags := nostr.Tags{{"expiration", "1700000010"}, {"h", "secret"}}
		return storetest.Draft{Key: 1, Kind: 1, At: 1_700_000_000, Content: text, Tags: tags}.Event()
	}
	stays := storetest.Draft{Key: 1, Kind: 1, At: 1, Content: "stays"}.Event()
	events := []*wire.Event{expiring("first"), expiring("second"), expiring("whole"), stays}
	ephemeral := storetest.Draft{Key: 1, Kind: 20001, At: 1}.Event()
	s := damaged(t, opt, append(events, ephemeral), map[uint64][]byte{
		1: body([]byte("{")), 2: body(unsigned(events[1])), 5: {byte(store.EntryEphemeral), '{'},
	})
	words, err := embedded.WordKeys(s)
	require.NoError(t, err)
	require.Equal(t, 4, words)
	now = now.Add(2 * time.Minute)
	n, err := s.Sweep(t.Context(), now)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	rows, err := s.ReadLog(t.Context(), 0, 10)
	require.NoError(t, err)
	types := make([]store.EntryType, len(rows))
	for i, e := range rows {
		types[i] = e.Type
	}
	void := store.EntryVoid
	require.Equal(t, []store.EntryType{void, void, void, store.EntryEvent, void, store.EntryRemoval}, types)
	require.Equal(t, store.PrefixOf(events[1]), rows[1].Prefix, "a token for its position still holds")
	texts, _ := contents(t, s, nostr.Filter{Kinds: []int{1}})
	require.Equal(t, []string{"stays"}, texts)
	words, err = embedded.WordKeys(s)
	require.NoError(t, err)
	require.Equal(t, 2, words, "of the one of which nothing can be told its keys stay")
	noted := s.Damaged()
	texts, _ = contents(t, s, nostr.Filter{Kinds: []int{1}})
	require.Equal(t, []string{"stays"}, texts)
	require.Equal(t, noted, s.Damaged(), "what is left of it is passed over in silence")
	n, err = s.Sweep(t.Context(), now)
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = s.Trim(t.Context(), store.Retention{Rows: 1}, now)
	require.NoError(t, err)
}

// A damaged event keeps nobody from replacing, deleting or erasing it, and does not fail
// who is in the same commit.
func TestADamagedEventCanBeReplacedDeletedAndErased(t *testing.T) {
	t.Parallel()
	of := func(key, kind int, at int64, content string, tags ...nostr.Tag) *wire.Event {
		return storetest.Draft{Key: key, Kind: kind, At: at, Content: content, Tags: tags}.Event()
	}
	events := []*wire.Event{
		of(1, 0, 5, "profile"), of(1, 1, 5, "note"), of(1, 30023, 5, "page", nostr.Tag{"d", "x"}), of(1, 1, 6, "banned"),
		of(2, 1, 5, "hers"), of(3, 7, 5, "his"), of(3, 8, 5, "group", nostr.Tag{"h", "g"}), of(3, store.KindGiftWrap, 5, "wrap", nostr.Tag{"p", storetest.Key(2)}),
	}
	for name, form := range map[string]func(e *wire.Event) []byte{"salvaged": unsigned, "lost": func(*wire.Event) []byte { return []byte("{") }} {
		rows := make(map[uint64][]byte)
		for i, e := range events {
			rows[uint64(i+1)] = body(form(e))
		}
		s := damaged(t, embedded.Options{}, events, rows)
		out := s.Append(t.Context(), []store.Write{
			{Event: of(1, 0, 6, "new profile")},
			{Event: of(1, 5, 7, "", nostr.Tag{"e", events[1].ID}, nostr.Tag{"a", "30023:" + storetest.Key(1) + ":x"}, nostr.Tag{"e", events[5].ID})},
			{Ban: []string{events[3].ID}},
			{Event: of(4, 1, 8, "beside")},
		})
		for i := range out {
			require.NoError(t, out[i].Err, name)
		}
		for _, x := range []store.Erasure{{Author: storetest.Key(2), Until: 9, Cause: store.CauseVanished}, {Group: "g", Cause: store.CauseOperator}} {
			n, err := s.Erase(t.Context(), x, 100)
			require.NoError(t, err)
			require.Equal(t, map[string]int{"": 2, "g": 1}[x.Group], n, name)
			n, err = s.Erase(t.Context(), x, 100)
			require.NoError(t, err)
			require.Zero(t, n, name)
		}
		log, err := s.ReadLog(t.Context(), 0, 100)
		require.NoError(t, err)
		for i := range events {
			require.Equal(t, i == 5, log[i].Type != store.EntryVoid, "%s: only what is somebody else's stays: %s", name, events[i].Content)
		}
		texts, _ := contents(t, s, nostr.Filter{})
		require.ElementsMatch(t, []string{"", "new profile", "beside"}, texts)
	}
}

// Also a row of which not even the type is left goes, by the sweep and by retention.
func TestARowWithoutATypeGoes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	opt := embedded.Options{Now: func() time.Time { return now }}
	expiring := func(text string) *wire.Event {
		return storetest.Draft{Key: 1, Kind: 1, At: 1_700_000_000, Content: text, Tags: nostr.Tags{{"expiration", "1700000010"}}}.Event()
	}
	last := storetest.Draft{Key: 1, Kind: 1, At: 1, Content: "stays"}.Event()
	events := []*wire.Event{expiring("empty"), expiring("of no type"), storetest.Draft{Key: 1, Kind: 1, At: 2}.Event(), last}
	s := damaged(t, opt, events, map[uint64][]byte{1: {}, 2: {9}, 3: {}})
	now = now.Add(time.Minute)
	n, err := s.Sweep(t.Context(), now)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	floor, err := s.Trim(t.Context(), store.Retention{Rows: 1}, now)
	require.NoError(t, err)
	require.EqualValues(t, 4, floor)
	texts, _ := contents(t, s, nostr.Filter{})
	require.Equal(t, []string{"stays"}, texts)
	kept, err := embedded.LogRows(s)
	require.NoError(t, err)
	require.Equal(t, 1, kept)
}

// What a damaged event says of itself may be another one's.
func TestADamagedEventTakesNothingOfAnotherOne(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	opt := embedded.Options{Now: func() time.Time { return now }}
	stays := storetest.Draft{Key: 1, Kind: 1, At: 1, Content: "stays", Tags: nostr.Tags{{"t", "x"}}}.Event()
	goes := storetest.Draft{Key: 1, Kind: 1, At: 1_700_000_000, Tags: nostr.Tags{{"expiration", "1700000010"}}}.Event()
	s := damaged(t, opt, []*wire.Event{stays, goes}, map[uint64][]byte{2: body(unsigned(stays))})
	now = now.Add(time.Minute)
	n, err := s.Sweep(t.Context(), now)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	for _, f := range []nostr.Filter{{}, {IDs: []string{stays.ID}}, {Tags: nostr.TagMap{"t": {"x"}}}, {Authors: []string{stays.PubKey}}} {
		texts, _ := contents(t, s, f)
		require.Equal(t, []string{"stays"}, texts)
	}
}
