package store_test

import (
	"math"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var (
	author = strings.Repeat("a", 64)
	other  = strings.Repeat("b", 64)
	id     = strings.Repeat("1", 64)
)

func TestTargetsOfADeletionRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tag  nostr.Tag
		want []store.Target
	}{
		"id":                          {nostr.Tag{"e", id, "wss://relay"}, []store.Target{{ID: id}}},
		"upper-case id":               {nostr.Tag{"e", strings.Repeat("A", 64)}, nil},
		"short id":                    {nostr.Tag{"e", id[1:]}, nil},
		"no value":                    {nostr.Tag{"e"}, nil},
		"addressable":                 {nostr.Tag{"a", "30023:" + author + ":x"}, []store.Target{{Kind: 30023, D: "x"}}},
		"colons in d":                 {nostr.Tag{"a", "30023:" + author + "::x:"}, []store.Target{{Kind: 30023, D: ":x:"}}},
		"empty d":                     {nostr.Tag{"a", "30023:" + author + ":"}, []store.Target{{Kind: 30023}}},
		"replaceable":                 {nostr.Tag{"a", "10002:" + author + ":"}, []store.Target{{Kind: 10002}}},
		"profile":                     {nostr.Tag{"a", "0:" + author + ":"}, []store.Target{{Kind: 0}}},
		"replaceable with d":          {nostr.Tag{"a", "10002:" + author + ":x"}, nil},
		"without the last colon":      {nostr.Tag{"a", "10002:" + author}, nil},
		"regular kind":                {nostr.Tag{"a", "1:" + author + ":"}, nil},
		"ephemeral kind":              {nostr.Tag{"a", "20000:" + author + ":"}, nil},
		"kind with a leading zero":    {nostr.Tag{"a", "030023:" + author + ":"}, nil},
		"negative kind":               {nostr.Tag{"a", "-1:" + author + ":"}, nil},
		"another author":              {nostr.Tag{"a", "30023:" + other + ":x"}, nil},
		"a tag that is not a target":  {nostr.Tag{"p", id}, nil},
		"an empty tag":                {nostr.Tag{}, nil},
		"capital letters are not e/a": {nostr.Tag{"E", id}, nil},
	} {
		request := wire.NewEvent(nostr.Event{PubKey: author, Kind: 5, Tags: nostr.Tags{c.tag}})
		require.Equal(t, c.want, store.Targets(request), name)
	}
}

func TestWhoMayDelete(t *testing.T) {
	t.Parallel()
	request := wire.NewEvent(nostr.Event{PubKey: author, Kind: 5})
	recipient := nostr.Tags{{"p", other}, {"p", author}}
	for name, c := range map[string]struct {
		target nostr.Event
		want   bool
	}{
		"its author":                 {nostr.Event{PubKey: author, Kind: 1}, true},
		"a stranger":                 {nostr.Event{PubKey: other, Kind: 1}, false},
		"a mentioned key":            {nostr.Event{PubKey: other, Kind: 1, Tags: recipient}, false},
		"a recipient of a gift wrap": {nostr.Event{PubKey: other, Kind: 1059, Tags: recipient}, true},
		"nobody, of a deletion":      {nostr.Event{PubKey: author, Kind: 5}, false},
	} {
		require.Equal(t, c.want, store.MayDelete(request, wire.NewEvent(c.target)), name)
	}
}

func TestOrderOfAnswers(t *testing.T) {
	t.Parallel()
	at := func(created nostr.Timestamp, id string) *wire.Event {
		return wire.NewEvent(nostr.Event{CreatedAt: created, ID: id})
	}
	require.True(t, store.Newer(at(2, "b"), at(1, "a")))
	require.False(t, store.Newer(at(1, "a"), at(2, "b")))
	require.True(t, store.Newer(at(1, "a"), at(1, "b")))
	require.False(t, store.Newer(at(1, "a"), at(1, "a")))
}

func TestLimitOfAFilter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		opt  store.QueryOptions
		f    nostr.Filter
		want int
	}{
		{store.QueryOptions{}, nostr.Filter{}, math.MaxInt},
		{store.QueryOptions{}, nostr.Filter{Limit: 7}, 7},
		{store.QueryOptions{MaxLimit: 5}, nostr.Filter{Limit: 7}, 5},
		{store.QueryOptions{MaxLimit: 5}, nostr.Filter{}, 5},
		{store.QueryOptions{MaxLimit: 5, DefaultLimit: 3}, nostr.Filter{}, 3},
		{store.QueryOptions{MaxLimit: 5, DefaultLimit: 9}, nostr.Filter{}, 5},
		{store.QueryOptions{DefaultLimit: 3}, nostr.Filter{LimitZero: true}, 0},
	} {
		require.Equal(t, c.want, c.opt.Limit(wire.NewFilter(c.f)), "%+v %+v", c.opt, c.f)
	}
}

func TestRemovalKeepsTheHeaderOnly(t *testing.T) {
	t.Parallel()
	e := wire.NewEvent(nostr.Event{ID: "0102030405060708ff", PubKey: author, Kind: 1, Content: "secret", Sig: "sig"})
	r := store.NewRemoval(store.CauseDeleted, 9, e)
	require.Empty(t, r.Event.Content)
	require.Empty(t, r.Event.Sig)
	require.NotContains(t, string(r.Event.Raw()), "secret")
	require.Equal(t, "secret", e.Content, "the event itself is untouched")
	require.Equal(t, [8]byte{1, 2, 3, 4, 5, 6, 7, 8}, store.PrefixOf(e))
}

func TestWhatAnErasureSelects(t *testing.T) {
	t.Parallel()
	vanish := store.Erasure{Author: author, Until: 100}
	group := store.Erasure{Group: "x", Self: author}
	event := func(pubkey string, kind int, at nostr.Timestamp, tags ...nostr.Tag) nostr.Event {
		return nostr.Event{PubKey: pubkey, Kind: kind, CreatedAt: at, Tags: tags}
	}
	for name, c := range map[string]struct {
		x    store.Erasure
		e    nostr.Event
		want bool
	}{
		"of the key":                      {vanish, event(author, 1, 100), true},
		"of the key, later":               {vanish, event(author, 1, 101), false},
		"of another key":                  {vanish, event(other, 1, 100), false},
		"a request to vanish":             {vanish, event(author, 62, 100), false},
		"a deletion request":              {vanish, event(author, 5, 100), true},
		"a gift wrap to the key":          {vanish, event(other, 1059, 100, nostr.Tag{"p", other}, nostr.Tag{"p", author}), true},
		"a gift wrap to the key, later":   {vanish, event(other, 1059, 101, nostr.Tag{"p", author}), false},
		"a gift wrap to another":          {vanish, event(other, 1059, 100, nostr.Tag{"p", other}), false},
		"a mention":                       {vanish, event(other, 1, 100, nostr.Tag{"p", author}), false},
		"in the group":                    {group, event(other, 9, 1<<40, nostr.Tag{"h"}, nostr.Tag{"h", "x"}), true},
		"in another group":                {group, event(author, 9, 1, nostr.Tag{"h", "y"}, nostr.Tag{"H", "x"}), false},
		"its metadata":                    {group, event(author, 39000, 1, nostr.Tag{"d", "x"}), true},
		"the last of its kinds":           {group, event(author, 39009, 1, nostr.Tag{"d", "x"}), true},
		"a kind beyond":                   {group, event(author, 39010, 1, nostr.Tag{"d", "x"}), false},
		"metadata of another relay":       {group, event(other, 39000, 1, nostr.Tag{"d", "x"}), false},
		"metadata of another group":       {group, event(author, 39000, 1, nostr.Tag{"d", "y"}), false},
		"a request to vanish, in a group": {group, event(other, 62, 1, nostr.Tag{"h", "x"}), false},
	} {
		require.Equal(t, c.want, c.x.Selects(wire.NewEvent(c.e)), name)
	}
}
