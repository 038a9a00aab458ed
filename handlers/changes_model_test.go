package handlers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// TestAFeedIsWhatStandsInTheLog compares feeds over random histories with a walk over
// the whole log, row by row.
func TestAFeedIsWhatStandsInTheLog(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		history := drawHistory(rt)
		ask := wire.ChangesMessage{
			ID: "x", Filter: wire.NewFilter(nostr.Filter{Kinds: rapid.SampledFrom([][]int{nil, {1}, {0, 2}, {5, 30023}, {}}).Draw(rt, "kinds")}),
			Since:    wire.Cursor{Position: uint64(rapid.IntRange(0, len(history)).Draw(rt, "since"))},
			HasLimit: rapid.Bool().Draw(rt, "limited"), Limit: int64(rapid.IntRange(0, 6).Draw(rt, "limit")),
			Removed: rapid.Bool().Draw(rt, "removed"),
		}
		talk(t, harness.Options{}, func(t *testing.T, r *harness.Relay, c *harness.Client) {
			for _, ev := range history {
				r.Store.Append(t.Context(), []store.Write{{Event: ev}}) // some are refused
			}
			r.Step(t)
			rows, err := r.Store.ReadLog(t.Context(), 0, 1000)
			require.NoError(t, err)
			ask.Since.Position = min(ask.Since.Position, uint64(len(rows)))
			require.Equal(t, expected(&ask, rows), told(say(t, c, string(wire.AppendChangesReq(nil, &ask)))))
			require.Zero(t, c.Conn.Usage())
		})
	})
}

func drawHistory(t *rapid.T) (made []*wire.Event) {
	for n := range rapid.IntRange(0, 25).Draw(t, "events") {
		d := storetest.Draft{
			Key: rapid.IntRange(1, 2).Draw(t, "author"), At: now + int64(n), Content: fmt.Sprint("note ", n),
			Kind: rapid.SampledFrom([]int{1, 1, 2, 0, 30023, 5, 20001}).Draw(t, "kind"),
		}
		if d.Kind == 5 && len(made) > 0 {
			d.Tags = nostr.Tags{{"e", rapid.SampledFrom(made).Draw(t, "target").ID}}
		}
		made = append(made, d.Event())
	}
	return made
}

// expected is the slow, obvious way.
func expected(m *wire.ChangesMessage, rows []store.Entry) (out []string) {
	out = []string{}
	last := m.Since.Position
	for _, e := range rows {
		if uint64(e.Position) <= m.Since.Position {
			continue
		}
		line := ""
		switch {
		case e.Type == store.EntryEvent && m.Filter.Matches(e.Event):
			line = strings.TrimSpace(fmt.Sprint(e.Position, " ", e.Event.Content))
		case e.Type == store.EntryRemoval && m.Removed && m.Filter.Matches(e.Removal.Event):
			line = gone(e.Position, e.Removal.Event)
		}
		if line != "" && m.HasLimit && int64(len(out)) == m.Limit {
			return append(out, fmt.Sprintf("EOSE %d more", last))
		}
		if line != "" {
			out = append(out, line)
		}
		last = uint64(e.Position)
	}
	return append(out, fmt.Sprint("EOSE ", last))
}
