package wire_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func TestDecodeFilterReadsAllFields(t *testing.T) {
	t.Parallel()
	f, err := wire.DecodeFilter([]byte(` { "ids":["` + hexA + `"], "authors":["` + hexB + `","` + hexA + `"],"kinds":[0,65535],` +
		`"#e":["` + hexA + `"],"#t":["","x","\u0058"],"#T":[],"since":0,"until":9223372036854775807,"limit":9223372036854775807,"search":"a b"} `))
	require.NoError(t, err)
	since, until := nostr.Timestamp(0), nostr.Timestamp(math.MaxInt64)
	require.Equal(t, nostr.Filter{
		IDs: []string{hexA}, Authors: []string{hexB, hexA}, Kinds: []int{0, 65535},
		Tags:  nostr.TagMap{"e": {hexA}, "t": {"", "x", "X"}, "T": {}},
		Since: &since, Until: &until, Limit: math.MaxInt64, Search: "a b",
	}, f.Filter)
}

func TestLimitZeroIsToldFromNoLimit(t *testing.T) {
	t.Parallel()
	zero, err := wire.DecodeFilter([]byte(`{"limit":0}`))
	require.NoError(t, err)
	none, err := wire.DecodeFilter([]byte(`{}`))
	require.NoError(t, err)
	require.True(t, zero.LimitZero)
	require.False(t, none.LimitZero)
}

func TestEmptyListsMatchNothing(t *testing.T) {
	t.Parallel()
	e := signed(t, "", nostr.Tag{"e", hexA})
	for _, text := range []string{`{"ids":[]}`, `{"authors":[]}`, `{"kinds":[]}`, `{"#e":[]}`, `{"#t":[ ]}`} {
		f, err := wire.DecodeFilter([]byte(text))
		require.NoError(t, err)
		require.False(t, f.Matches(e), text)
		require.False(t, f.Filter.Matches(&e.Event), text)
	}
	all, err := wire.DecodeFilter([]byte(`{}`))
	require.NoError(t, err)
	require.True(t, all.Matches(e))
}

func TestRepeatedValuesAreKeptOnce(t *testing.T) {
	t.Parallel()
	f, err := wire.DecodeFilter([]byte(`{"kinds":[3,1,3,2,1],"#t":["b","a","b"],"ids":["` + hexA + `","` + hexA + `"]}`))
	require.NoError(t, err)
	require.Equal(t, []int{3, 1, 2}, f.Kinds)
	require.Equal(t, []string{"b", "a"}, f.Tags["t"])
	require.Equal(t, []string{hexA}, f.IDs)

	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprint(i*7%500))
	}
	source := nostr.Filter{Tags: nostr.TagMap{"t": many}}
	f = wire.NewFilter(source)
	require.Equal(t, many[:500], f.Tags["t"])
	require.Len(t, source.Tags["t"], 1000)
}

func TestDecodeFilterRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`null`:                                    "filter is not an object",
		`[]`:                                      "filter is not an object",
		`{}{}`:                                    "there is something behind the end",
		`{"ids":null}`:                            "ids is not a list",
		`{"ids":"` + hexA + `"}`:                  "ids is not a list",
		`{"ids":["` + hexA[1:] + `"]}`:            "ids is not lower-case hex of the right length",
		`{"ids":[""]}`:                            "ids is not lower-case hex of the right length",
		`{"ids":[1]}`:                             "ids is not a string",
		`{"ids":["` + hexA + `",]}`:               "ids is not a string",
		`{"ids":["` + hexA + `"`:                  "comma or closing bracket expected",
		`{"authors":["` + hexA[:60] + `AAAA"]}`:   "authors is not lower-case hex of the right length",
		`{"#e":["x"]}`:                            "#e is not lower-case hex of the right length",
		`{"#p":["x"]}`:                            "#p is not lower-case hex of the right length",
		`{"#t":"x"}`:                              "#t is not a list",
		`{"#t":[null]}`:                           "#t is not a string",
		`{"kinds":1}`:                             "kinds is not a list",
		`{"kinds":["1"]}`:                         "kind is not an integer",
		`{"kinds":[1.0]}`:                         "kind is not an integer",
		`{"kinds":[1e3]}`:                         "kind is not an integer",
		`{"kinds":[-1]}`:                          "kind must not be negative",
		`{"kinds":[65536]}`:                       "kind is not between 0 and 65535",
		`{"since":-1}`:                            "since must not be negative",
		`{"since":-}`:                             "since is not an integer",
		`{"since":-1.5}`:                          "since must not be negative",
		`{"since":null}`:                          "since is not an integer",
		`{"until":1.5}`:                           "until is not an integer",
		`{"until":9223372036854775808}`:           "until is too large",
		`{"limit":-1}`:                            "limit must not be negative",
		`{"limit":"1"}`:                           "limit is not an integer",
		`{"limit":9223372036854775808}`:           "limit is too large",
		`{"search":null}`:                         "search is not a string",
		`{"limit":0,"limit":0}`:                   "filter has a field twice: limit",
		`{"search":"","search":""}`:               "filter has a field twice: search",
		`{"ids":[],"ids":[]}`:                     "filter has a field twice: ids",
		`{"authors":[],"authors":[]}`:             "filter has a field twice: authors",
		`{"kinds":[],"kinds":[]}`:                 "filter has a field twice: kinds",
		`{"since":0,"since":0}`:                   "filter has a field twice: since",
		`{"until":0,"until":0}`:                   "filter has a field twice: until",
		`{"#t":[],"#\u0074":[]}`:                  "filter has a field twice: #t",
		`{"kinds":[1],}`:                          "field name is not a string",
		`{"kinds":[1] "limit":1}`:                 "comma or closing bracket expected",
		`{"kinds"}`:                               "colon expected",
		`{"search":"` + "\n" + `"}`:               "search holds a raw control character",
		`{"ids":[` + strings.Repeat(`[`, 1<<20):   "ids is not a string",
		`{"#t":["x"],"ids":["` + hexA + `"]` + ``: "comma or closing bracket expected",
	} {
		f, err := wire.DecodeFilter([]byte(text))
		require.Nil(t, f)
		require.EqualError(t, err, "invalid: "+want, text[:min(len(text), 200)])
	}
}

func TestUnknownFilterFieldIsUnsupported(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "id", "IDs", "#", "#1", "#ee", "#é", "e", "&t", "Limit", "#[", "#@", "#`", "#{"} {
		err := refusal(t, fmt.Sprintf(`["REQ","x",{},{"limit":1,%q:[]}]`, key))
		require.Equal(t, &wire.Error{Reason: wire.Because(wire.Unsupported, "filter field "+key), Verb: "REQ", Sub: "x", HasSub: true}, err)
	}
}
