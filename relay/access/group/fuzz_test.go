package group_test

import (
	"encoding/json"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// FuzzPlan: whatever an event holds, it is allowed or refused with a Reason, and
// what was allowed can be applied.
func FuzzPlan(f *testing.F) {
	for _, c := range refusals {
		tags, err := json.Marshal(c.tags)
		require.NoError(f, err)
		f.Add(c.kind, uint8(3), tags)
	}
	for kind := 9000; kind <= 9022; kind++ {
		f.Add(kind, uint8(2), []byte(`[["h","pizza"],["h"],[],["p"],["p","`+dave+`","admin"],["e","x"],["code",""],["parent"],["child"],["previous","00000000"]]`))
		f.Add(kind, uint8(2), []byte(`[["h","pizza"],["p","`+carol+`"],["name","x"],["parent","food"],["code","x"],["a","x"],["supported_kinds"]]`))
	}
	f.Fuzz(func(t *testing.T, kind int, author uint8, data []byte) {
		var tags nostr.Tags
		if json.Unmarshal(data, &tags) != nil {
			return
		}
		w := newWorld(t)
		w.create("food")
		w.create("pizza", tag("private"), tag("hidden"))
		w.do(alice, 9002, h("pizza"), tag("parent", "food"))
		ev := w.event(keys[int(author)%8], kind, tags...)
		before := w.book.Dump()
		w.sees(ev, dave)
		write, err := w.plan(ev)
		if err != nil {
			var reason wire.Reason
			require.ErrorAs(t, err, &reason)
			require.NotEmpty(t, reason.Prefix)
			require.Equal(t, before, w.book.Dump())
			return
		}
		require.NoError(t, w.commit(write))
		require.Equal(t, w.book.Dump(), w.rebuilt().Dump())
		requireNoCycle(t, w)
	})
}
