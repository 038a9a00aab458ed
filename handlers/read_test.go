package handlers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/handlers"
	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// sorted returns names with "OK" first and the rest in order.
func sorted(names []string) []string {
	slices.SortFunc(names, func(a, b string) int {
		if (a == "OK") != (b == "OK") {
			if a == "OK" {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return names
}

func TestLimitsOfFiltersAreExact(t *testing.T) {
	t.Parallel()
	limits := handlers.Limits{Filters: 3, FilterValues: 4}
	tests := []struct {
		name, filters string
		prefix        wire.Prefix // none when they are served
	}{
		{"as many filters as may be", filters(3), ""},
		{"a filter too many", filters(4), wire.Invalid},
		{"as many values as may be", `,{"kinds":` + list(4) + `}`, ""},
		{"a value too many", `,{"kinds":` + list(5) + `}`, wire.Invalid},
		{"a value too many over all lists", `,{"kinds":` + list(3) + `,"#t":["a","b"]}`, wire.Invalid},
		{"a value too many in the last filter", filters(2) + `,{"kinds":` + list(5) + `}`, wire.Invalid},
		{"search", `,{"search":"x"}`, wire.Unsupported},
		{"an unknown field", `,{"#tt":["x"]}`, wire.Unsupported},
		{"null", `,null`, wire.Invalid},
		{"none", ``, wire.Invalid},
	}
	for _, test := range tests {
		for _, verb := range []string{"REQ", "COUNT"} {
			t.Run(verb+" "+test.name, func(t *testing.T) {
				t.Parallel()
				talk(t, harness.Options{Handlers: limits}, func(t *testing.T, r *harness.Relay, c *harness.Client) {
					m := sayOne(t, c, `["`+verb+`","x"`+test.filters+`]`)
					require.Equal(t, "x", m.Sub)
					if test.prefix == "" {
						require.Contains(t, []string{"EOSE", "COUNT"}, m.Verb)
						return
					}
					require.Equal(t, "CLOSED", m.Verb)
					requirePrefix(t, m.Text, test.prefix)
					require.Zero(t, r.Index.Len())
				})
			})
		}
	}
}

// G7, NIP-50: what is stored and what is live goes by the same words; the best comes first.
func TestSearchesAreAnsweredAndFollowed(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{Search: true}, func(t *testing.T, r *harness.Relay, c *harness.Client) {
		for at, content := range []string{"fences fences", "on fences and walls", "walls"} {
			r.Commit(t, sign(t, alice, nostr.Event{Content: content, CreatedAt: nostr.Timestamp(at + 1)}))
		}
		r.Step(t)
		got := say(t, c, `["REQ","x",{"search":"FENCES lang:en"}]`)
		require.Equal(t, []string{"EVENT x", "EVENT x", "EOSE x"}, verbs(got))
		require.Equal(t, "fences fences", got[0].Event.Content)
		require.Equal(t, 1, sayOne(t, c, `["COUNT","y",{"search":"walls fences"}]`).Count)
		for _, content := range []string{"walls again", "fences again"} {
			r.Commit(t, sign(t, alice, nostr.Event{Content: content, CreatedAt: 9}))
		}
		r.Step(t)
		live := c.Settle()
		require.Len(t, live, 1)
		require.Contains(t, live[0], "fences again")
		many := strings.Repeat("w ", 40)
		require.Equal(t, []string{"EOSE z"}, verbs(say(t, c, `["REQ","z",{"search":"`+many+`"}]`)), "each word counts once")
		for i := range 33 {
			many += fmt.Sprintf(" w%d", i)
		}
		refused := sayOne(t, c, `["REQ","z",{"search":"`+many+`"}]`)
		require.Equal(t, "CLOSED", refused.Verb)
		requirePrefix(t, refused.Text, wire.Invalid)
	})
}

func TestLimitsChangeForTheNextMessage(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{}, func(t *testing.T, r *harness.Relay, c *harness.Client) {
		require.Equal(t, []string{"EOSE x"}, verbs(say(t, c, `["REQ","x",{},{"limit":1}]`)))
		r.Handlers.SetLimits(handlers.Limits{Filters: 1})
		require.Equal(t, []string{"CLOSED y"}, verbs(say(t, c, `["REQ","y",{},{"limit":1}]`)))
	})
}

func TestCountAnswersAndLeavesItsNamesakeAlone(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{Handlers: handlers.Limits{MaxCount: 2}}, func(t *testing.T, r *harness.Relay, c *harness.Client) {
		require.Equal(t, []string{"EOSE x"}, verbs(say(t, c, `["REQ","x",{"kinds":[1]}]`)))
		for n, content := range []string{"a", "b", "c"} {
			r.Commit(t, sign(t, alice, nostr.Event{Content: content}))
			m := sayOne(t, c, `["COUNT","x",{"limit":1}]`)
			require.Equal(t, "COUNT", m.Verb)
			require.Equal(t, min(n+1, 2), m.Count, "limit does not count")
			require.Equal(t, n+1 > 2, m.Approximate)
		}
		require.Equal(t, "CLOSED", sayOne(t, c, `["COUNT","x",{"search":"x"}]`).Verb)
		require.Equal(t, "CLOSED", sayOne(t, c, `["COUNT","x",null]`).Verb)
		r.Step(t)
		require.Len(t, c.Settle(), 3, "the subscription lives")
	})
}

func TestFailedReadsTellNothing(t *testing.T) {
	t.Parallel()
	o := wrap(func(s store.Store) store.Store { return broken{s} })
	talk(t, o, func(t *testing.T, r *harness.Relay, c *harness.Client) {
		for _, msg := range []string{`["REQ","x",{}]`, `["COUNT","x",{}]`} {
			m := sayOne(t, c, msg)
			require.Equal(t, "CLOSED", m.Verb)
			requirePrefix(t, m.Text, wire.Failed)
			require.NotContains(t, m.Text, "secret")
			require.Zero(t, r.Index.Len())
		}
	})
}

func TestUndecodableMessagesAreAnsweredUnderTheNameOfWhatTheyConcern(t *testing.T) {
	t.Parallel()
	id, long := strings.Repeat("0f", 32), strings.Repeat("ü", 65)
	tests := []struct {
		msg    string
		answer string // "VERB sub" or "OK"
		prefix wire.Prefix
	}{
		{`{`, "NOTICE", wire.Invalid},
		{`null`, "NOTICE", wire.Invalid},
		{`[]`, "NOTICE", wire.Invalid},
		{`["FOO","x"]`, "NOTICE", wire.Unsupported},
		{`["REQ"]`, "NOTICE", wire.Invalid},
		{`["REQ",7,{}]`, "NOTICE", wire.Invalid},
		{`["EVENT",{}]`, "NOTICE", wire.Invalid},
		{`["EVENT",{"id":7}]`, "NOTICE", wire.Invalid},
		{`["REQ","x"]`, "CLOSED x", wire.Invalid},
		{`["REQ","x",{}`, "CLOSED x", wire.Invalid},
		{`["REQ","x",{}] `, "EOSE x", ""},
		{`["REQ","x",{}]]`, "CLOSED x", wire.Invalid},
		{`["REQ","x",{"limit":-1}]`, "CLOSED x", wire.Invalid},
		{`["REQ","x\"\\",null]`, `CLOSED x"\`, wire.Invalid},
		{`["REQ","",{}]`, "CLOSED", wire.Invalid},
		{`["REQ","` + long + `",{}]`, "CLOSED " + long[:128] + "…", wire.Invalid},
		{`["COUNT","x"]`, "CLOSED x", wire.Invalid},
		{`["CLOSE","x",1]`, "CLOSED x", wire.Invalid},
		{`["EVENT",{"id":"` + id + `"}]`, "OK", wire.Invalid},
		{`["EVENT",{"kind":1,"id":"` + id + `","pubkey":7}]`, "OK", wire.Invalid},
		{`["AUTH",{"id":"` + id + `"}]`, "OK", wire.Invalid},
	}
	for _, test := range tests {
		t.Run(test.msg, func(t *testing.T) {
			t.Parallel()
			talk(t, harness.Options{}, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
				m := sayOne(t, c, test.msg)
				require.Equal(t, test.answer, strings.TrimSpace(m.Verb+" "+m.Sub))
				requirePrefix(t, m.Text, test.prefix)
				if test.answer == "OK" {
					require.Equal(t, id, m.ID)
					require.False(t, m.OK)
				}
				require.Equal(t, "COUNT", sayOne(t, c, `["COUNT","c",{}]`).Verb, "the connection lives")
			})
		})
	}
}

// An expired event is served in no mode, also before the sweep (NIP-40).
func TestExpiredEventsAreServedInNoMode(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{}, func(t *testing.T, r *harness.Relay, c *harness.Client) {
		require.Equal(t, []string{"EOSE live"}, verbs(say(t, c, `["REQ","live",{}]`)))
		r.Commit(t, sign(t, alice, nostr.Event{Tags: nostr.Tags{{"expiration", "946684801"}}}))
		pass(2e9)
		r.Step(t)
		require.Equal(t, []string{"EOSE stored"}, verbs(say(t, c, `["REQ","stored",{}]`)))
		require.Zero(t, sayOne(t, c, `["COUNT","c",{}]`).Count)
	})
}
