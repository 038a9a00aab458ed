package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
)

// sessionsWorld is an index under test. Its clock is its own, so that ages are told
// with a tolerance.
type sessionsWorld struct {
	*testing.T
	store.Sessions
}

var (
	firstNode  = store.Node{Name: "a", Incarnation: "01"}
	secondLife = store.Node{Name: "a", Incarnation: "02"}
	otherNode  = store.Node{Name: "b", Incarnation: "03"}
)

// RunSessions holds an index of sessions to the contract. open returns an empty one.
func RunSessions(t *testing.T, open func(t *testing.T) store.Sessions) {
	t.Helper()
	for name, run := range map[string]func(w sessionsWorld){
		"what is reported is seen, with its age":           sessionsAreSeen,
		"the same report twice is the same":                sessionsTwice,
		"an end is seen, and only that one":                sessionsEnd,
		"a node that stops ends its own sessions":          sessionsStop,
		"a successor neither inherits nor refreshes":       sessionsSuccessor,
		"open sessions come first, and are bounded":        sessionsBounded,
		"all sessions come in pages":                       sessionsInPages,
		"documents pass through as they are":               sessionsDocuments,
		"a report that is wrong is refused whole":          sessionsRefused,
		"an index that knows nothing says so, and only it": sessionsFresh,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(sessionsWorld{t, open(t)})
		})
	}
}

func keyOf(n int) string { return fmt.Sprintf("%064x", n) }

func opened(conn uint64, key int, idle time.Duration) store.SessionOpen {
	return store.SessionOpen{Conn: conn, Key: keyOf(key), Idle: idle, Doc: json.RawMessage(`{"v":1}`)}
}

func ended(conn uint64, key int) store.SessionRef {
	return store.SessionRef{Conn: conn, Key: keyOf(key)}
}

func (w sessionsWorld) report(r store.SessionReport) (fresh bool) {
	w.Helper()
	fresh, err := w.Report(w.Context(), r)
	require.NoError(w, err)
	return fresh
}

func (w sessionsWorld) of(keys ...int) []store.SessionSeen {
	w.Helper()
	var names []string
	for _, k := range keys {
		names = append(names, keyOf(k))
	}
	seen, err := w.OfKeys(w.Context(), time.Now(), names, 10)
	require.NoError(w, err)
	return seen
}

// brief is what of the sessions does not depend on clocks.
func brief(seen []store.SessionSeen) (out []string) {
	for _, s := range seen {
		state := "open"
		if s.Ended {
			state = "ended"
		}
		out = append(out, fmt.Sprintf("%s%s/%d %s %s", s.Name, s.Incarnation, s.Conn, strings.TrimLeft(s.Key, "0"), state))
	}
	return out
}

func sessionsAreSeen(w sessionsWorld) {
	w.report(store.SessionReport{
		Node: firstNode, Connections: 7,
		Open: []store.SessionOpen{opened(1, 1, 10*time.Minute), opened(1, 2, 10*time.Minute), opened(2, 1, 0)},
	})
	now := time.Now()
	seen, err := w.OfKeys(w.Context(), now, []string{keyOf(2), keyOf(3), "no key"}, 10)
	require.NoError(w, err)
	require.Equal(w, []string{"a01/1 2 open"}, brief(seen))
	require.Less(w, seen[0].Age, time.Minute)
	require.GreaterOrEqual(w, seen[0].Age, time.Duration(0))
	require.WithinDuration(w, now.Add(-seen[0].Age), seen[0].Observed, time.Millisecond)
	require.WithinDuration(w, now.Add(-10*time.Minute), seen[0].Active, time.Minute)
	require.False(w, seen[0].Gone)
}

func sessionsTwice(w sessionsWorld) {
	r := store.SessionReport{Node: firstNode, Connections: 1, Open: []store.SessionOpen{opened(1, 1, 0)}, Ended: []store.SessionRef{ended(9, 9)}}
	w.report(r)
	w.report(r)
	require.Equal(w, []string{"a01/1 1 open"}, brief(w.of(1, 9)))
	r = store.SessionReport{Node: firstNode, Ended: []store.SessionRef{ended(1, 1)}}
	w.report(r)
	w.report(r) // the answer to the first was lost
	require.Equal(w, []string{"a01/1 1 ended"}, brief(w.of(1)))
}

func sessionsEnd(w sessionsWorld) {
	w.report(store.SessionReport{Node: firstNode, Open: []store.SessionOpen{opened(1, 1, 0), opened(1, 2, 0), opened(2, 1, 0)}})
	w.report(store.SessionReport{Node: firstNode, Ended: []store.SessionRef{ended(1, 1)}})
	require.ElementsMatch(w, []string{"a01/2 1 open", "a01/1 1 ended", "a01/1 2 open"}, brief(w.of(1, 2)))
}

func sessionsStop(w sessionsWorld) {
	w.report(store.SessionReport{Node: firstNode, Open: []store.SessionOpen{opened(1, 1, 0)}})
	w.report(store.SessionReport{Node: otherNode, Open: []store.SessionOpen{opened(1, 1, 0)}})
	w.report(store.SessionReport{Node: firstNode, Stopped: true})
	seen := w.of(1)
	require.Equal(w, []string{"b03/1 1 open", "a01/1 1 ended"}, brief(seen))
	require.True(w, seen[1].Gone)
	require.False(w, seen[0].Gone)
}

func sessionsSuccessor(w sessionsWorld) {
	w.report(store.SessionReport{Node: firstNode, Connections: 1, Open: []store.SessionOpen{opened(1, 1, 0)}})
	before := w.of(1)
	require.True(w, w.report(store.SessionReport{Node: secondLife, Connections: 1, Open: []store.SessionOpen{opened(1, 2, 0)}}))
	w.report(store.SessionReport{Node: secondLife, Ended: []store.SessionRef{ended(1, 1)}})
	after := w.of(1)
	require.Equal(w, []string{"a01/1 1 open"}, brief(after))
	require.GreaterOrEqual(w, after[0].Age, before[0].Age, "it is not refreshed")
	require.True(w, after[0].Gone)
	require.False(w, w.of(2)[0].Gone)
}

func sessionsBounded(w sessionsWorld) {
	var open []store.SessionOpen
	for conn := range uint64(8) {
		open = append(open, opened(conn+1, 1, 0))
	}
	w.report(store.SessionReport{Node: firstNode, Open: append(open, opened(9, 2, 0))})
	for conn := uint64(8); conn > 1; conn-- {
		w.report(store.SessionReport{Node: firstNode, Ended: []store.SessionRef{ended(conn, 1)}})
	}
	seen, err := w.OfKeys(w.Context(), time.Now(), []string{keyOf(1), keyOf(2)}, 2)
	require.NoError(w, err)
	require.ElementsMatch(w, []string{"a01/1 1 open", "a01/2 1 ended", "a01/9 2 open"}, brief(seen))
}

func sessionsInPages(w sessionsWorld) {
	for _, node := range []store.Node{firstNode, otherNode} {
		w.report(store.SessionReport{Node: node, Connections: 3, Open: []store.SessionOpen{opened(1, 1, 0), opened(1, 2, 0), opened(2, 1, 0)}})
	}
	var all []string
	after := store.SessionRef{}
	for {
		page, nodes, err := w.All(w.Context(), time.Now(), after, 2)
		require.NoError(w, err)
		require.Len(w, nodes, 2)
		require.Equal(w, 3, nodes[0].Connections)
		if len(page) == 0 {
			break
		}
		all, after = append(all, brief(page)...), page[len(page)-1].SessionRef
	}
	require.Equal(w, []string{
		"a01/1 1 open", "a01/1 2 open", "a01/2 1 open", "b03/1 1 open", "b03/1 2 open", "b03/2 1 open",
	}, all)
}

func sessionsDocuments(w sessionsWorld) {
	doc := `{"v":7,"what a later version says":["x",{"y":1.0}]}`
	open := opened(1, 1, 0)
	open.Doc = json.RawMessage(doc)
	w.report(store.SessionReport{Node: firstNode, Open: []store.SessionOpen{open}})
	require.Equal(w, doc, string(w.of(1)[0].Doc))
}

func sessionsRefused(w sessionsWorld) {
	r := store.SessionReport{Node: firstNode, Open: []store.SessionOpen{opened(1, 1, 0), {Conn: 2, Key: "no key"}}}
	_, err := w.Report(w.Context(), r)
	require.Error(w, err)
	r.Open[1] = opened(2, 1, 0)
	r.Open[1].Doc = json.RawMessage(`"` + strings.Repeat("x", store.MaxSessionDoc) + `"`)
	_, err = w.Report(w.Context(), r)
	require.Error(w, err)
	require.Empty(w, w.of(1))
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	_, err = w.Report(ctx, store.SessionReport{Node: firstNode})
	require.ErrorIs(w, err, context.Canceled)
}

func sessionsFresh(w sessionsWorld) {
	require.True(w, w.report(store.SessionReport{Node: firstNode}))
	require.False(w, w.report(store.SessionReport{Node: firstNode}))
	require.True(w, w.report(store.SessionReport{Node: secondLife}))
	require.False(w, w.report(store.SessionReport{Node: firstNode}))
}
