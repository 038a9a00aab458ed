package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

func TestWhatARowIsAbout(t *testing.T) {
	t.Parallel()
	key, long := storetest.Key(1), strings.Repeat("x", 65)
	for name, row := range map[string]struct {
		draft storetest.Draft
		want  string
	}{
		"a note":                        {storetest.Draft{Kind: 1}, ""},
		"a profile":                     {storetest.Draft{Kind: 0}, "0:" + key},
		"a page":                        {storetest.Draft{Kind: 30023, Tags: nostr.Tags{{"d", "x"}}}, "30023:" + key + ":x"},
		"a page without a name":         {storetest.Draft{Kind: 30023}, "30023:" + key + ":"},
		"a post":                        {storetest.Draft{Kind: 9, Tags: nostr.Tags{{"p", key}, {"h", "g"}, {"h", "i"}}}, "h:g"},
		"a page of a group":             {storetest.Draft{Kind: 30023, Tags: nostr.Tags{{"h", "g"}, {"d", "x"}}}, "30023:" + key + ":x"},
		"an ephemeral event of a group": {storetest.Draft{Kind: 20001, Tags: nostr.Tags{{"h", "g"}}}, "h:g"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row.draft.Key = 1
			ev := row.draft.Event()
			why := errors.New("by hand")
			for _, e := range []store.Entry{
				{Type: store.EntryEvent, Event: ev},
				{Type: store.EntryRemoval, Removal: store.NewRemoval(store.CauseDeleted, 1, ev)},
				{Type: store.EntryEvent, Broken: store.Salvage(why, ev.Raw())},
			} {
				require.Equal(t, row.want, e.Aggregate())
			}
		})
	}
	a := store.Entry{Event: storetest.Draft{Key: 1, Kind: 30023, Tags: nostr.Tags{{"d", long}}}.Event()}
	b := store.Entry{Event: storetest.Draft{Key: 1, Kind: 30023, Tags: nostr.Tags{{"d", long + "y"}}}.Event()}
	require.NotEqual(t, a.Aggregate(), b.Aggregate())
	require.Less(t, len(a.Aggregate()), 150)
	require.Empty(t, (&store.Entry{Type: store.EntryVoid}).Aggregate())
}

// Salvage reads what strangers have written, and must agree with the decoder.
func FuzzSalvage(f *testing.F) {
	ev := storetest.Draft{Key: 1, Kind: 30023, Tags: nostr.Tags{{"d", "x"}, {}, {"h"}}}.Event()
	for _, body := range []string{string(ev.Raw()), "", "null", "{}", `{"kind":1}`, `{"kind":-1,"pubkey":"` + ev.PubKey + `"}`, `[1]`, `{"kind":1e9,"pubkey":"` + ev.PubKey + `","tags":[null]}`} {
		f.Add([]byte(body))
	}
	all := []*wire.Filter{wire.NewFilter(nostr.Filter{})}
	f.Fuzz(func(t *testing.T, body []byte) {
		e := store.Entry{Type: store.EntryEvent, Broken: store.Salvage(store.ErrDamaged, body)}
		require.ErrorIs(t, e.Broken.Err, store.ErrDamaged)
		require.True(t, e.CouldMatch(all))
		if good, err := wire.DecodeEvent(body); err == nil {
			require.Equal(t, good.Kind, e.Broken.Kind)
			require.Equal(t, good.PubKey, e.Broken.PubKey)
			require.Equal(t, (&store.Entry{Event: good}).Aggregate(), e.Aggregate())
		}
	})
}
