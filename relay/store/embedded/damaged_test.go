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
	s = overwrite(t, s, fs, opt, rows)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// overwrite changes rows of the log of s, which it closes, and opens it again.
func overwrite(t *testing.T, s *embedded.Store, fs vfs.FS, opt embedded.Options, rows map[uint64][]byte) *embedded.Store {
	t.Helper()
	require.NoError(t, s.Close())
	require.NoError(t, embedded.OverwriteRows(fs, "data", rows))
	s, err := embedded.OpenFS(fs, "data", opt)
	require.NoError(t, err)
	return s
}

// unsigned is e without its signature: damaged, and what it was can be told.
func unsigned(e *wire.Event) []byte { return bytes.Replace(e.Raw(), []byte(e.Sig), nil, 1) }

func body(b []byte) []byte { return append([]byte{byte(store.EntryEvent)}, b...) }

// contents returns what a store answers.
func contents(t *testing.T, s *embedded.Store, f nostr.Filter) []string {
	t.Helper()
	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, snap.Close()) }()
	rows, err := snap.Query(t.Context(), []*wire.Filter{wire.NewFilter(f)}, store.QueryOptions{MaxLimit: 100, DefaultLimit: 100})
	require.NoError(t, err)
	texts := []string{}
	for {
		page, err := rows.Next(t.Context(), nil, 10)
		for _, r := range page {
			texts = append(texts, r.Event.Content)
		}
		if errors.Is(err, io.EOF) {
			return texts
		}
		require.NoError(t, err)
	}
}

// However little is left of an event.
func TestDamagedEventsKeepTheContract(t *testing.T) {
	t.Parallel()
	for name, spoilt := range map[string]func(e *wire.Event) []byte{
		"no JSON":      func(*wire.Event) []byte { return body([]byte("{")) },
		"no event":     func(e *wire.Event) []byte { return body(unsigned(e)) },
		"empty":        func(*wire.Event) []byte { return []byte{} },
		"another type": func(*wire.Event) []byte { return []byte{9, 1} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.RunDamaged(t, func(t *testing.T, now func() time.Time) (store.Store, storetest.Damage) {
				fs, opt := vfs.NewMem(), embedded.Options{Now: now, Search: true}
				s, err := embedded.OpenFS(fs, "data", opt)
				require.NoError(t, err)
				return s, func(events map[store.Position]*wire.Event) store.Store {
					rows := make(map[uint64][]byte)
					for position, e := range events {
						rows[uint64(position)] = spoilt(e)
					}
					return overwrite(t, s, fs, opt, rows)
				}
			})
		})
	}
}

// Keys of which nothing tells are found by nobody.
func TestWhatCanBeToldOfADamagedEventIsSwept(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	opt := embedded.Options{Now: func() time.Time { return now }, Search: true}
	expiring := func(text string) *wire.Event {
		return storetest.Draft{Key: 1, Kind: 1, At: 1_700_000_000, Content: text, Tags: nostr.Tags{{"expiration", "1700000010"}}}.Event()
	}
	events := []*wire.Event{
		expiring("lost"), expiring("salvaged"), storetest.Draft{Key: 1, Kind: 1, At: 1, Content: "stays"}.Event(), storetest.Draft{Key: 1, Kind: 20001, At: 1}.Event(),
	}
	s := damaged(t, opt, events, map[uint64][]byte{
		1: body([]byte("{")), 2: body(unsigned(events[1])), 4: {byte(store.EntryEphemeral), '{'},
	})
	words, err := embedded.WordKeys(s)
	require.NoError(t, err)
	require.Equal(t, 3, words)
	now = now.Add(2 * time.Minute)
	n, err := s.Sweep(t.Context(), now)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	rows, err := s.ReadLog(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, rows, 4)
	require.Equal(t, store.EntryVoid, rows[3].Type)
	require.Equal(t, store.PrefixOf(events[1]), rows[1].Prefix, "a token for its position still holds")
	words, err = embedded.WordKeys(s)
	require.NoError(t, err)
	require.Equal(t, 2, words, "lost and stays")
	noted := s.Damaged()
	require.Equal(t, []string{"stays"}, contents(t, s, nostr.Filter{Kinds: []int{1}}))
	require.Equal(t, noted, s.Damaged(), "what is left of it is passed over in silence")
}

// The contract would let a deletion fail.
func TestADamagedEventCanBeReplacedAndDeleted(t *testing.T) {
	t.Parallel()
	of := func(key, kind int, at int64, content string, tags ...nostr.Tag) *wire.Event {
		return storetest.Draft{Key: key, Kind: kind, At: at, Content: content, Tags: tags}.Event()
	}
	events := []*wire.Event{
		of(1, 0, 5, "profile"), of(1, 1, 5, "note"), of(1, 30023, 5, "page", nostr.Tag{"d", "x"}), of(1, 1, 6, "banned"),
		of(3, 7, 5, "his"),
	}
	for name, form := range map[string]func(e *wire.Event) []byte{"salvaged": unsigned, "lost": func(*wire.Event) []byte { return []byte("{") }} {
		rows := make(map[uint64][]byte)
		for i, e := range events {
			rows[uint64(i+1)] = body(form(e))
		}
		s := damaged(t, embedded.Options{}, events, rows)
		out := s.Append(t.Context(), []store.Write{
			{Event: of(1, 0, 6, "new profile")},
			{Event: of(1, 5, 7, "", nostr.Tag{"e", events[1].ID}, nostr.Tag{"a", "30023:" + storetest.Key(1) + ":x"}, nostr.Tag{"e", events[4].ID})},
			{Ban: []string{events[3].ID}},
			{Event: of(4, 1, 8, "beside")},
		})
		for i := range out {
			require.NoError(t, out[i].Err, name)
		}
		log, err := s.ReadLog(t.Context(), 0, 100)
		require.NoError(t, err)
		for i := range events {
			require.Equal(t, i == 4, log[i].Type != store.EntryVoid, "%s: only what is somebody else's stays: %s", name, events[i].Content)
		}
		texts := contents(t, s, nostr.Filter{})
		require.ElementsMatch(t, []string{"", "new profile", "beside"}, texts)
	}
}

// Also of a row of which not even the type is left nothing stays on disk.
func TestRetentionRemovesARowWithoutAType(t *testing.T) {
	t.Parallel()
	note := func(at int64) *wire.Event { return storetest.Draft{Key: 1, Kind: 1, At: at}.Event() }
	s := damaged(t, embedded.Options{}, []*wire.Event{note(1), note(2), note(3)}, map[uint64][]byte{1: {}, 2: {9}})
	floor, err := s.Trim(t.Context(), store.Retention{Rows: 1}, time.Unix(4, 0))
	require.NoError(t, err)
	require.EqualValues(t, 3, floor)
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
		texts := contents(t, s, f)
		require.Equal(t, []string{"stays"}, texts)
	}
}
