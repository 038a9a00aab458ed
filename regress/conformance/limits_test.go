package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip13"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// narrow is a relay with every limit low.
var narrow = []string{
	"WEBSOCKET_MAX_MESSAGE=8KiB", "SUBSCRIPTIONS_MAX=3", "SUBSCRIPTIONS_MAX_FILTERS=2", "SUBSCRIPTIONS_MAX_FILTER_VALUES=4",
	"EVENTS_MAX_TAGS=5", "EVENTS_MAX_TAG_VALUE=50", "EVENTS_MAX_CONTENT=100", "EVENTS_MIN_POW=4",
	"EVENTS_CREATED_AT_PAST=1h", "EVENTS_CREATED_AT_FUTURE=1m",
}

// mined returns a finished event whose id has at least bits leading zero bits.
func mined(secret string, bits int, at nostr.Timestamp, content string, tags ...nostr.Tag) *wire.Event {
	for i := 0; ; i++ {
		e := signed(secret, 1, at, content, append(slices.Clone(tags), nostr.Tag{"nonce", fmt.Sprint(i), fmt.Sprint(bits)})...)
		if nip13.Difficulty(e.ID) >= bits {
			return e
		}
	}
}

func (d information) number(t *testing.T, name string) int {
	t.Helper()
	n, ok := d.Limitation[name].(float64)
	require.True(t, ok, "limitation.%s is missing", name)
	return int(n)
}

// FIELD_REPORTS 10: what the document says is what happens, at and over each limit.
func TestLimitationIsTheTruthForEvents(t *testing.T) {
	t.Parallel()
	r := target(t, narrow...)
	p, d := r.dial(t), document(t, r)
	bits, now := d.number(t, "min_pow_difficulty"), nostr.Now()
	tags := func(n int) (tags []nostr.Tag) { return slices.Repeat([]nostr.Tag{{"x", "y"}}, n-1) } // and the nonce
	content, past, future := d.number(t, "max_content_length"), d.number(t, "created_at_lower_limit"), d.number(t, "created_at_upper_limit")
	easy := signed(p.secret, 1, now, random())
	for nip13.Difficulty(easy.ID) >= bits {
		easy = signed(p.secret, 1, now, random())
	}
	const slack = 120 // seconds that the test may take
	for name, row := range map[string]struct {
		e      *wire.Event
		prefix string
	}{
		"enough work":          {mined(p.secret, bits, now, random()), ""},
		"too little work":      {easy, "pow"},
		"most tags":            {mined(p.secret, bits, now, random(), tags(d.number(t, "max_event_tags"))...), ""},
		"too many tags":        {mined(p.secret, bits, now, random(), tags(d.number(t, "max_event_tags")+1)...), "invalid"},
		"longest content":      {mined(p.secret, bits, now, strings.Repeat("é", content)), ""},
		"too long content":     {mined(p.secret, bits, now, strings.Repeat("é", content+1)), "invalid"},
		"longest tag value":    {mined(p.secret, bits, now, random(), nostr.Tag{"x", strings.Repeat("𝄞", 50)}), ""},
		"too long a tag value": {mined(p.secret, bits, now, random(), nostr.Tag{"x", "", strings.Repeat("𝄞", 51)}), "invalid"},
		"oldest":               {mined(p.secret, bits, now-nostr.Timestamp(past-slack), random()), ""},
		"too old":              {mined(p.secret, bits, now-nostr.Timestamp(past+1), random()), "invalid"},
		"furthest ahead":       {mined(p.secret, bits, now+nostr.Timestamp(future), random()), ""},
		"too far ahead":        {mined(p.secret, bits, now+nostr.Timestamp(future+slack), random()), "invalid"},
	} {
		requireOK(t, p.publish(row.e), row.e.ID, row.prefix == "", row.prefix, name)
	}
}

// FIELD_REPORTS 10 and 13.
func TestLimitationIsTheTruthForSubscriptions(t *testing.T) {
	t.Parallel()
	r := target(t, narrow...)
	d := document(t, r)
	p := r.dial(t)
	filters := d.number(t, "max_filters")
	many := func(n int) (list []string) {
		for i := range n { // equal ones would count as one
			list = append(list, fmt.Sprintf(`{"kinds":[%d],"limit":0}`, i))
		}
		return list
	}
	for name, row := range map[string]struct {
		filters []string
		ok      bool
	}{
		"most filters":     {many(filters), true},
		"too many filters": {many(filters + 1), false},
		"most values":      {[]string{`{"kinds":[1,2],"#x":["a"],"#y":["b"]}`}, true},
		"too many values":  {[]string{`{"kinds":[1,2],"#x":["a","c"],"#y":["b"]}`}, false},
	} {
		_, end := p.query(row.filters...)
		require.Equal(t, row.ok, end.Verb == "EOSE", "%s: %s", name, end.raw)
		count := p.count(row.filters...)
		require.Equal(t, row.ok, count.Verb == "COUNT", "%s: %s", name, count.raw)
		if !row.ok {
			require.Equal(t, "invalid", prefixOf(end))
			require.Equal(t, "invalid", prefixOf(count))
		}
	}

	subs := d.number(t, "max_subscriptions")
	for i := range subs {
		p.req(fmt.Sprint("s", i), `{"limit":0}`)
		_, end := p.stored(fmt.Sprint("s", i))
		require.Equal(t, "EOSE", end.Verb)
	}
	p.req("over", `{"limit":0}`)
	_, end := p.stored("over")
	require.Equal(t, "CLOSED", end.Verb)
	require.Equal(t, "rate-limited", prefixOf(end), end.raw)
	p.req("s0", `{"limit":0}`)
	_, end = p.stored("s0")
	require.Equal(t, "EOSE", end.Verb, "replacing one of them is allowed")
	p.end("s0")
	p.req("over", `{"limit":0}`)
	_, end = p.stored("over")
	require.Equal(t, "EOSE", end.Verb, "there is room again")

	id := strings.Repeat("x", d.number(t, "max_subid_length"))
	p.end("s1")
	p.req(id, `{"limit":0}`)
	_, end = p.stored(id)
	require.Equal(t, "EOSE", end.Verb)
	size := d.number(t, "max_message_length")
	p.end("s2")
	p.send(padded("m", size))
	_, end = p.stored("m")
	require.Equal(t, "EOSE", end.Verb)
	p.send(padded("m", size+1))
	require.EqualValues(t, 1009, p.ended())
}

// FIELD_REPORTS 10: what is turned off is left out of the document and not enforced.
func TestLimitsCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	r := target(t, "SUBSCRIPTIONS_MAX_FILTERS=0", "SUBSCRIPTIONS_MAX_FILTER_VALUES=0", "SUBSCRIPTIONS_MAX_VALUES=0", "SUBSCRIPTIONS_MAX_WEIGHT=100000", "SUBSCRIPTIONS_QUERY_TIMEOUT=0s", "SUBSCRIPTIONS_MAX_LIMIT=0", "SUBSCRIPTIONS_DEFAULT_LIMIT=0",
		"SUBSCRIPTIONS_MAX_TOTAL=0", "SUBSCRIPTIONS_MAX_COUNT=0", "EVENTS_MAX_TAGS=0", "EVENTS_MAX_TAG_VALUE=0", "EVENTS_MAX_CONTENT=0",
		"EVENTS_CREATED_AT_FUTURE=0s", "WEBSOCKET_MAX_MESSAGE=4MiB", "QUEUE_MAX_BYTES=16MiB", "NETWORK_MAX_CONNECTIONS=0", "NETWORK_MAX_CONNECTIONS_PER_ADDRESS=0")
	d := document(t, r)
	for _, name := range []string{"max_filters", "max_limit", "default_limit", "max_event_tags", "max_content_length", "created_at_lower_limit", "created_at_upper_limit"} {
		require.NotContains(t, d.Limitation, name)
	}
	p := r.dial(t)
	topic := random()
	e := signed(p.secret, 1, nostr.Timestamp(time.Now().AddDate(50, 0, 0).Unix()), strings.Repeat("x", 1<<20),
		append(slices.Repeat([]nostr.Tag{{"x", "y"}}, 10_000), nostr.Tag{"t", topic}, nostr.Tag{"y", strings.Repeat("z", 1<<17)})...)
	p.store(e, signed(p.secret, 1, 0, "the beginning", nostr.Tag{"t", topic}))
	filters := make([]string, 200)
	for i := range filters { // no two alike
		filters[i] = on(topic, fmt.Sprint(`"limit":`, 10+i))
	}
	events, end := p.query(filters...)
	require.Equal(t, "EOSE", end.Verb)
	require.Len(t, events, 2)
	require.Equal(t, []string{"finish"}, end.Hints)
	values := make([]int, 20_000)
	for i := range values {
		values[i] = i
	}
	require.Len(t, p.ids(on(topic, `"kinds":`+list(values))), 2)
}
