package relay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/relay/client"
	"fencepost/relay/config"
	"fencepost/relay/wire"
)

// mirrors makes a relay mirror another one.
func mirrors(url, filter, direction, start string) func(*config.Config) {
	return func(c *config.Config) {
		message, err := wire.Decode([]byte(`["REQ","x",` + filter + `]`))
		if err != nil {
			panic(err)
		}
		c.Mirrors = append(c.Mirrors, config.Mirror{
			URL: "ws://" + url, Filter: message.(*wire.ReqMessage).Filters[0], Direction: direction, Start: start,
		})
	}
}

// at makes a relay listen at an address.
func at(address string) func(*config.Config) {
	return func(c *config.Config) { c.Listen = address }
}

// publishes publishes n notes and returns their ids.
func publishNotes(t *testing.T, c *client.Client, kind, n int, createdAt func(i int) nostr.Timestamp) []string {
	t.Helper()
	var g errgroup.Group
	g.SetLimit(32)
	ids := make([]string, n)
	for i := range n {
		g.Go(func() error {
			ev := nostr.Event{Kind: kind, CreatedAt: createdAt(i), Content: fmt.Sprint(asked.Add(1))}
			if err := ev.Sign(publisherKey); err != nil {
				return err
			}
			ids[i] = ev.ID
			return c.Publish(t.Context(), wire.NewEvent(ev))
		})
	}
	require.NoError(t, g.Wait())
	return ids
}

func present(int) nostr.Timestamp { return nostr.Now() }

// holds waits until a relay has these events, and no other of the filter.
func (r *running) holds(t *testing.T, filter string, want ...[]string) {
	t.Helper()
	ids := slices.Sorted(slices.Values(slices.Concat(want...)))
	c := r.dial(t)
	var got []string
	require.Eventually(t, func() bool {
		got = all(t, c, filter)
		return slices.Equal(ids, got)
	}, soon, 100*time.Millisecond, "%d of %d", len(got), len(ids))
}

func all(t *testing.T, c *client.Client, filter string) (ids []string) {
	t.Helper()
	send(t, c, `["REQ","all",{"limit":5000,`+strings.TrimPrefix(filter, "{")+`]`)
	for {
		switch m := next(t, c); m.Verb {
		case "EVENT":
			ids = append(ids, m.Event.ID)
		case "EOSE":
			send(t, c, `["CLOSE","all"]`)
			slices.Sort(ids)
			return ids
		}
	}
}

// awaitSubscriber waits until a mirror takes in what r gets from now on.
func (r *running) awaitSubscriber(t *testing.T) {
	t.Helper()
	until(t, func() bool { return r.metric(t, "fencepost_subscriptions") > 0 })
}

func TestAMirrorTakesInWhatItsUpstreamGets(t *testing.T) {
	t.Parallel()
	upstream := start(t, t.TempDir())
	source := upstream.dial(t)
	before := publishNotes(t, source, 1, 3, func(int) nostr.Timestamp { return nostr.Now() - 3600 })
	r := start(t, t.TempDir(), mirrors(upstream.url, `{"kinds":[1]}`, "down", "now"))
	upstream.awaitSubscriber(t)
	c := r.dial(t)
	open(t, c, `{"kinds":[1]}`)
	ids := publishNotes(t, source, 1, 50, present)
	other := publishNotes(t, source, 2, 1, present)
	for range ids {
		require.Contains(t, ids, next(t, c).Event.ID)
	}
	r.holds(t, `{"kinds":[1,2]}`, ids)
	require.NotEmpty(t, before)
	require.NotEmpty(t, other)
}

// The past comes by pages, also when a page ends in the middle of a second.
func TestAMirrorFetchesThePast(t *testing.T) {
	t.Parallel()
	upstream := start(t, t.TempDir())
	ids := publishNotes(t, upstream.dial(t), 1, 1700, func(i int) nostr.Timestamp { return 1_700_000_000 + nostr.Timestamp(i/300) })
	r := start(t, t.TempDir(), mirrors(upstream.url, `{"kinds":[1]}`, "down", "all"))
	r.holds(t, `{"kinds":[1]}`, ids)
}

func TestAMirrorPassesOnWhatItHasAndGets(t *testing.T) {
	t.Parallel()
	upstream := start(t, t.TempDir())
	dir := t.TempDir()
	r := start(t, dir)
	before := publishNotes(t, r.dial(t), 1, 700, func(i int) nostr.Timestamp { return 1_700_000_000 + nostr.Timestamp(i/300) })
	require.NoError(t, r.stop())
	r = start(t, dir, mirrors(upstream.url, `{"kinds":[1]}`, "up", "all"))
	after := publishNotes(t, r.dial(t), 1, 50, present)
	upstream.holds(t, `{"kinds":[1]}`, before, after)
	require.NoError(t, r.stop())
	r = start(t, dir, mirrors(upstream.url, `{"kinds":[1]}`, "up", "all"))
	later := publishNotes(t, r.dial(t), 1, 10, present)
	upstream.holds(t, `{"kinds":[1]}`, before, after, later)
	published := func() int {
		return r.metric(t, `fencepost_mirror_events_total{outcome="published",upstream="ws://`+upstream.url+`"}`)
	}
	until(t, func() bool { return published() >= len(later) }) // the last OK may be on its way
	require.Equal(t, len(later), published(), "it goes on where it was")
}

// What not everybody may read stays here.
func TestAMirrorPassesOnNothingPrivate(t *testing.T) {
	t.Parallel()
	upstream := start(t, t.TempDir())
	r := start(t, t.TempDir(), mirrors(upstream.url, `{"kinds":[1,4,9,1059]}`, "up", "now"))
	alice, c := r.login(t, aliceKey), upstream.dial(t)
	early := 0
	until(t, func() bool { // until the mirror follows the log, which is a moment after it has connected
		early++
		require.True(t, alice.say(1, fmt.Sprint("early ", early)).OK)
		return len(all(t, c, `{"kinds":[1]}`)) > 0
	})
	group := nostr.Tag{"h", "pizza"}
	require.True(t, alice.say(9007, "", group).OK)
	require.True(t, alice.say(9002, "", group, nostr.Tag{"private"}).OK)
	require.True(t, alice.say(9, "secret", group).OK)
	require.True(t, alice.say(4, "secret", nostr.Tag{"p", public(t, bobKey)}).OK)
	require.True(t, alice.say(1, "protected", nostr.Tag{"-"}).OK)
	require.True(t, alice.say(1, "public").OK)
	ids := all(t, r.dial(t), `{"kinds":[1]}`)
	require.Len(t, ids, early+2)
	m := upstream.login(t, aliceKey)
	var got []string
	until(t, func() bool { got, _ = m.stored(`{}`); return slices.Contains(got, "public") })
	got = slices.DeleteFunc(got, func(content string) bool { return strings.HasPrefix(content, "early ") })
	require.Equal(t, []string{"public"}, got)
}

// Two relays that mirror each other do not send events to and fro.
func TestMirrorsDoNotEcho(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir())
	address := a.url
	dir := t.TempDir()
	require.NoError(t, a.stop())
	b := start(t, t.TempDir(), mirrors(address, `{"kinds":[1]}`, "both", "all"))
	a = start(t, dir, at(address), mirrors(b.url, `{"kinds":[1]}`, "both", "all"))
	connected := func(r, other *running) func() bool {
		return func() bool { return r.metric(t, `fencepost_mirror_connected{upstream="ws://`+other.url+`"}`) == 1 }
	}
	require.Eventually(t, connected(a, b), soon, 50*time.Millisecond)
	require.Eventually(t, connected(b, a), soon, 50*time.Millisecond)
	ofA, ofB := publishNotes(t, a.dial(t), 1, 100, present), publishNotes(t, b.dial(t), 1, 100, func(int) nostr.Timestamp { return nostr.Now() - 100 })
	a.holds(t, `{"kinds":[1]}`, ofA, ofB)
	b.holds(t, `{"kinds":[1]}`, ofA, ofB)
	for _, r := range []*running{a, b} {
		position := func() int { return r.metric(t, "fencepost_follower_applied_position") }
		until(t, func() bool { return position() >= 200 }) // what is stored is applied a moment later
		require.Equal(t, 200, position(), "an event takes one position")
	}
}

// What came while nobody was connected is fetched after the next connect.
func TestAMirrorFetchesWhatItMissed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	upstream := start(t, dir)
	address := upstream.url
	r := start(t, t.TempDir(), mirrors(address, `{"kinds":[1]}`, "down", "now"))
	upstream.awaitSubscriber(t)
	before := publishNotes(t, upstream.dial(t), 1, 10, present)
	r.holds(t, `{"kinds":[1]}`, before)
	require.NoError(t, upstream.stop())
	apart := start(t, dir) // elsewhere, so that the mirror does not find it
	missed := publishNotes(t, apart.dial(t), 1, 20, present)
	require.NoError(t, apart.stop())
	upstream = start(t, dir, at(address))
	after := publishNotes(t, upstream.dial(t), 1, 5, present)
	r.holds(t, `{"kinds":[1]}`, before, missed, after)
}

// An upstream that forges is not believed.
func TestAMirrorJudgesEventsAsThoseOfStrangers(t *testing.T) {
	t.Parallel()
	upstream := start(t, t.TempDir())
	r := start(t, t.TempDir(), operated(t), mirrors(upstream.url, `{}`, "down", "now"))
	upstream.awaitSubscriber(t)
	r.call(t, "banpubkey", public(t, publisherKey))
	banned := publishNotes(t, upstream.dial(t), 1, 3, present)
	alice := upstream.login(t, aliceKey)
	require.True(t, alice.say(1, "protected", nostr.Tag{"-"}).OK)
	require.True(t, alice.say(1, "fine").OK)
	c := r.dial(t)
	require.Eventually(t, func() bool { return len(all(t, c, `{"kinds":[1]}`)) == 1 }, soon, 50*time.Millisecond)
	require.NotContains(t, all(t, c, `{"kinds":[1]}`), banned[0])
}

func TestTheOperatorSeesTheMirrors(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), operated(t), mirrors("127.0.0.1:1", `{"kinds":[1]}`, "down", "now"))
	require.Eventually(t, func() bool {
		return r.metric(t, `fencepost_mirror_failures_total{upstream="ws://127.0.0.1:1"}`) > 0
	}, soon, 50*time.Millisecond)
	r.call(t, "listmirrors")
}

// By NIP-77 both sides come to have everything, whatever their events are dated.
func TestMirrorsReconcile(t *testing.T) {
	t.Parallel()
	upstream := start(t, t.TempDir())
	dir := t.TempDir()
	r := start(t, dir)
	old := func(i int) nostr.Timestamp { return 1_600_000_000 + nostr.Timestamp(i%3) }
	here, there := publishNotes(t, r.dial(t), 1, 300, old), publishNotes(t, upstream.dial(t), 1, 600, old)
	require.NoError(t, r.stop())
	r = start(t, dir, mirrors(upstream.url, `{"kinds":[1]}`, "both", "reconcile"))
	r.holds(t, `{"kinds":[1]}`, here, there)
	upstream.holds(t, `{"kinds":[1]}`, here, there)
	require.NoError(t, r.stop())
	late := publishNotes(t, upstream.dial(t), 1, 10, old)
	r = start(t, dir, mirrors(upstream.url, `{"kinds":[1]}`, "both", "reconcile"))
	r.holds(t, `{"kinds":[1]}`, here, there, late)
}

// A relay of members takes in nothing of others, whatever its upstream has.
func TestAMirrorLetsNoStrangersIn(t *testing.T) {
	t.Parallel()
	upstream := start(t, t.TempDir())
	source := upstream.dial(t)
	ids := publishNotes(t, source, 1, 3, present)
	r := start(t, t.TempDir(), operated(t), mirrors(upstream.url, `{"kinds":[1]}`, "down", "all"),
		func(c *config.Config) { c.Membership.Require = config.RequireWrite })
	count := func(outcome string) int {
		return r.metric(t, `fencepost_mirror_events_total{outcome="`+outcome+`",upstream="ws://`+upstream.url+`"}`)
	}
	require.Eventually(t, func() bool { return count("refused")+count("stored") >= len(ids) }, soon, 50*time.Millisecond)
	require.Zero(t, count("stored"))
}
