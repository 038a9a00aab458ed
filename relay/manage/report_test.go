package manage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
)

func TestReportedEventsAreListedNewestReportFirst(t *testing.T) {
	t.Parallel()
	r := start(t)
	a := by(t, 2, nostr.Event{Kind: 1, Content: "a"})
	b := by(t, 2, nostr.Event{Kind: 1, Content: "b"})
	c := by(t, 2, nostr.Event{Kind: 1, Content: "c"})
	unreported := by(t, 2, nostr.Event{Kind: 1, Content: "d"})
	absent := strings.Repeat("0", 64)
	r.requireResult(t, `[]`, "listeventsneedingmoderation")
	r.put(t, a, b, c, unreported)
	report := func(at nostr.Timestamp, content string, tags ...nostr.Tag) {
		r.put(t, by(t, 3, nostr.Event{Kind: 1984, CreatedAt: at, Content: content, Tags: tags}))
	}
	report(100, "it sells", nostr.Tag{"e", a.ID, "spam"}, nostr.Tag{"p", key(2)})
	report(300, "", nostr.Tag{"e", b.ID, "nudity"}, nostr.Tag{"e", b.ID, "again"}, nostr.Tag{"e", absent, "spam"})
	report(200, "no type", nostr.Tag{"e", c.ID}, nostr.Tag{"e", a.ID, "illegal"}, nostr.Tag{"e"}, nostr.Tag{"e", "x"})
	report(250, "", nostr.Tag{"p", key(2), "spam"})
	item := func(id, reason string) string { return fmt.Sprintf(`{"id":%q,"reason":%q}`, id, reason) }
	r.requireResult(t, "["+item(b.ID, "nudity")+","+item(c.ID, "no type")+","+item(a.ID, "illegal: no type")+"]",
		"listeventsneedingmoderation")

	r.requireResult(t, `true`, "banevent", b.ID)
	r.requireResult(t, "["+item(c.ID, "no type")+","+item(a.ID, "illegal: no type")+"]", "listeventsneedingmoderation")
}

func TestAListOfReportedEventsIsBounded(t *testing.T) {
	t.Parallel()
	r := start(t)
	last := ""
	for i := range 1100 {
		e := by(t, 2, nostr.Event{Kind: 1, Content: fmt.Sprint(i)})
		r.put(t, e, by(t, 3, nostr.Event{Kind: 1984, CreatedAt: nostr.Timestamp(1000 + i), Tags: nostr.Tags{{"e", e.ID}}, Content: strings.Repeat("é", 300)}))
		last = e.ID
	}
	got, err := r.call(t, "listeventsneedingmoderation")
	require.NoError(t, err)
	require.Equal(t, 1000, strings.Count(got, `"id"`))
	require.True(t, strings.HasPrefix(got, `[{"id":"`+last+`","reason":"`+strings.Repeat("é", 200)+`…"}`), got[:200])
}
