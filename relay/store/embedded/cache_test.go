package embedded_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// A string is 16 bytes and a list 24, however little they hold.
func TestCacheWeighsListsAndStrings(t *testing.T) {
	t.Parallel()
	const n = 100_000
	for name, c := range map[string]struct {
		tags nostr.Tags
		text string
		most int
	}{
		"empty values of one tag": {nostr.Tags{make(nostr.Tag, n)}, "", 16 * n},
		"empty tags":              {make(nostr.Tags, n), "", 24 * n},
		"content":                 {nil, strings.Repeat("x", n), 2 * n},
	} {
		weight := embedded.Weight(storetest.Draft{Kind: 1, Tags: c.tags, Content: c.text}.Event())
		require.Greater(t, weight, c.most, name)
	}
}

// Not parallel: it measures the heap, which nothing else may use meanwhile.
func TestCacheWeighsNoLessThanAnEventKeeps(t *testing.T) {
	var many, short nostr.Tags
	for i := range 1000 {
		many = append(many, nostr.Tag{"p", fmt.Sprintf("%064x", i)})
		short = append(short, nostr.Tag{"t", fmt.Sprint(i)})
	}
	for name, d := range map[string]storetest.Draft{
		"a note":              {Kind: 1, Content: "text", Tags: many[:2]},
		"nothing but escapes": {Kind: 1, Content: strings.Repeat("\n", 1000)},
		"many tags":           {Kind: 3, Tags: many},
		"many short tags":     {Kind: 3, Tags: short},
	} {
		e := d.Event()
		message := fmt.Sprintf(`["EVENT",%s%s]`, e.Raw(), strings.Repeat(" ", 480))
		kept := make(map[uint64]*wire.Event)
		before := heap()
		for i := range uint64(1000) {
			m, err := wire.Decode([]byte(message))
			require.NoError(t, err)
			kept[i] = m.(*wire.EventMessage).Event
		}
		each := (heap() - before) / len(kept)
		require.LessOrEqual(t, each, embedded.Weight(kept[0])*11/10, name) // sizes are rounded up
		runtime.KeepAlive(kept)
	}
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
