package embedded_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
)

func rows() []store.Entry {
	e := storetest.Draft{Kind: 30023, At: 9, Tags: nostr.Tags{{"d", "\x00\"x"}, {"e"}}, Content: "text"}.Event()
	prefix := store.PrefixOf(e)
	return []store.Entry{
		{Type: store.EntryEvent, Event: e, Prefix: prefix},
		{Type: store.EntryEphemeral, Event: e, Prefix: prefix},
		{Type: store.EntryRemoval, Removal: store.NewRemoval(store.CauseExpired, 1<<40, e), Prefix: prefix},
		{Type: store.EntryVoid, Void: store.VoidReplaced, Prefix: prefix},
		{Type: store.EntryControl, Control: &store.Control{Scopes: []string{"relay", "", "g:\xff"}, Data: []byte("data")}},
		{Type: store.EntryControl, Control: &store.Control{}},
	}
}

func TestRowsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, want := range rows() {
		want.Position = 5
		got, err := embedded.DecodeRow(5, embedded.EncodeRow(want), nil)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func FuzzDecodeRow(f *testing.F) {
	for _, row := range rows() {
		f.Add(embedded.EncodeRow(row))
	}
	f.Add([]byte{})
	f.Add([]byte{3, 1})
	f.Add([]byte{5, 255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, row []byte) {
		e, err := embedded.DecodeRow(1, row, nil)
		if err != nil {
			return
		}
		again, err := embedded.DecodeRow(1, embedded.EncodeRow(e), nil)
		require.NoError(t, err)
		require.Equal(t, e.Type, again.Type)
		require.Equal(t, e.Prefix, again.Prefix)
		require.Equal(t, e.Control, again.Control)
	})
}

func FuzzParseEntry(f *testing.F) {
	f.Add(bytes.Repeat([]byte{1}, 40), bytes.Repeat([]byte{2}, 18))
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, suffix, value []byte) {
		_, err := embedded.ParseEntry(suffix, value)
		require.Equal(t, len(suffix) == 40 && (len(value) == 10 || len(value) == 18), err == nil)
	})
}

// No stream's prefix is the beginning of another's, or one would hold its keys.
func FuzzTagPrefixes(f *testing.F) {
	f.Add("", "\x00")
	f.Add("a", "ab")
	f.Add(strings.Repeat("x", 64), strings.Repeat("x", 65))
	f.Fuzz(func(t *testing.T, a, b string) {
		if a == b {
			return
		}
		one, two := embedded.TagPrefix(nil, 't', a), embedded.TagPrefix(nil, 't', b)
		require.False(t, bytes.HasPrefix(one, two) || bytes.HasPrefix(two, one))
	})
}

// What says how far retention and the index of words are comes back as it was, or is
// refused.
func FuzzProgress(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{1}, 9))
	f.Add(bytes.Repeat([]byte{0}, 32))
	f.Fuzz(func(t *testing.T, value []byte) {
		moments, err := embedded.ParseMoments(value)
		require.Equal(t, len(value)%16 == 0, err == nil)
		if err == nil {
			require.True(t, bytes.Equal(value, embedded.AppendMoments(nil, moments)))
		}
		again, err := embedded.WordsAgain(value)
		require.Equal(t, len(value) == 9 && value[0] < 2, err == nil)
		if err == nil {
			require.Equal(t, value, again)
		}
	})
}
