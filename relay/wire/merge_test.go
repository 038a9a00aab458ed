package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func TestEqualFiltersOfAMessageAreMerged(t *testing.T) {
	t.Parallel()
	many := func(order string) string { return `{"#t":` + order + `,"kinds":[1]}` }
	for _, test := range []struct {
		name, filters string
		kept          []int
	}{
		{"empty ones", `{},{},{}`, []int{0}},
		{"the first is kept in its place", `{"kinds":[1]},{},{"kinds":[1]},{"kinds":[2]},{}`, []int{0, 1, 3}},
		{"order of the values", `{"kinds":[1,2,3]},{"kinds":[3,1,2]}`, []int{0}},
		{"values that stand twice", `{"kinds":[1,2]},{"kinds":[2,1,2]}`, []int{0}},
		{"order of the fields", `{"kinds":[1],"#t":["x"],"limit":5},{"limit":5,"#t":["x"],"kinds":[1]}`, []int{0}},
		{"long lists", many(longList("x")) + `,` + many(strings.Replace(longList("x"), `[`, `["x",`, 1)), []int{0}},
		{"a search for nothing", `{},{"search":""}`, []int{0}},

		{"other values", `{"kinds":[1,4]},{"kinds":[2,3]},{"kinds":[1]},{"kinds":[1,4,5]}`, []int{0, 1, 2, 3}},
		{"other fields", `{"ids":["` + hexA + `"]},{"authors":["` + hexA + `"]},{"#e":["` + hexA + `"]},{"#E":["` + hexA + `"]}`, []int{0, 1, 2, 3}},
		{"values that change places", `{"#a":["x"],"#b":["y"]},{"#a":["y"],"#b":["x"]}`, []int{0, 1}},
		{"values that move", `{"#a":["x","y"],"#b":[]},{"#a":["x"],"#b":["y"]}`, []int{0, 1}},
		{"an empty list is a list", `{},{"ids":[]},{"authors":[]},{"kinds":[]},{"#t":[]},{"#T":[]}`, []int{0, 1, 2, 3, 4, 5}},
		{"times", `{},{"since":0},{"until":0},{"since":1},{"since":1,"until":2},{"since":2,"until":1}`, []int{0, 1, 2, 3, 4, 5}},
		{"limits", `{},{"limit":0},{"limit":1},{"limit":2}`, []int{0, 1, 2, 3}},
		{"searches", `{},{"search":"a"},{"search":"b"}`, []int{0, 1, 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, err := wire.Decode([]byte(`["REQ","x",` + test.filters + `]`))
			require.NoError(t, err)
			count, err := wire.Decode([]byte(`["COUNT","x",` + test.filters + `]`))
			require.NoError(t, err)
			var all, want []nostr.Filter
			for _, text := range strings.SplitAfter(test.filters, "}") {
				if text != "" {
					f, err := wire.DecodeFilter([]byte(strings.TrimPrefix(text, ",")))
					require.NoError(t, err)
					all = append(all, f.Filter)
				}
			}
			for _, i := range test.kept {
				want = append(want, all[i])
			}
			require.Equal(t, want, plainFilters(t, m.(*wire.ReqMessage).Filters))
			require.Equal(t, want, plainFilters(t, count.(*wire.CountMessage).Filters))
		})
	}
}

func BenchmarkDecodeReqOf(b *testing.B) {
	for _, filters := range []int{1, 3, 30} {
		var list []*wire.Filter
		for i := range filters {
			list = append(list, wire.NewFilter(nostr.Filter{Kinds: []int{i}, Authors: manyHex(100)}))
		}
		message := wire.AppendReq(nil, "sub", list)
		b.Run(fmt.Sprintf("filters=%d", filters), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wire.Decode(message); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
