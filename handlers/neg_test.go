package handlers_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/handlers"
	"fencepost/regress/harness"
	"fencepost/relay/negentropy"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// negLimits let everything in these tests be reconciled.
var negLimits = handlers.Limits{NegRecords: 1000, NegSessions: 2, NegHeld: 1500, NegFrame: 4096, NegIdle: time.Minute}

func item(t *testing.T, e *wire.Event) negentropy.Item {
	t.Helper()
	i := negentropy.Item{At: uint64(e.CreatedAt)}
	_, err := hex.Decode(i.ID[:], []byte(e.ID))
	require.NoError(t, err)
	return i
}

func setOf(t *testing.T, events ...*wire.Event) *negentropy.Set {
	t.Helper()
	var items []negentropy.Item
	for _, e := range events {
		items = append(items, item(t, e))
	}
	return negentropy.NewSet(items)
}

func negOpen(sub, filter string, msg []byte) string {
	return fmt.Sprintf(`["NEG-OPEN",%q,%s,"%x"]`, sub, filter, msg)
}

// empty is the first message of a client that has nothing.
var empty = negentropy.NewClient(negentropy.NewSet(nil), negentropy.MinFrame).Start()

// reconcile runs a negotiation to its end and returns the difference.
func reconcile(t *testing.T, c *harness.Client, sub, filter string, own ...*wire.Event) (have, need []string) {
	t.Helper()
	client := negentropy.NewClient(setOf(t, own...), negentropy.MinFrame)
	msg := negOpen(sub, filter, client.Start())
	for {
		m := sayOne(t, c, msg)
		require.Equal(t, "NEG-MSG", m.Verb, m.Text)
		require.Equal(t, sub, m.Sub)
		next, err := client.Next(m.Message)
		require.NoError(t, err)
		if next == nil {
			break
		}
		msg = string(wire.AppendNegMsg(nil, sub, next))
	}
	require.Empty(t, say(t, c, string(wire.AppendNegClose(nil, sub))))
	return hexIDs(client.Have), hexIDs(client.Need)
}

func hexIDs(ids [][32]byte) (out []string) {
	for _, id := range ids {
		out = append(out, hex.EncodeToString(id[:]))
	}
	slices.Sort(out)
	return out
}

func idsOf(events ...*wire.Event) (out []string) {
	for _, e := range events {
		out = append(out, e.ID)
	}
	slices.Sort(out)
	return out
}

func requireNegErr(t *testing.T, m wire.RelayMessage, sub string, prefix wire.Prefix) {
	t.Helper()
	require.Equal(t, []string{"NEG-ERR", sub}, []string{m.Verb, m.Sub}, m.Text)
	requirePrefix(t, m.Text, prefix)
}

func notes(t *testing.T, r *harness.Relay, from, to int) (events []*wire.Event) {
	t.Helper()
	for i := from; i < to; i++ {
		e := sign(t, alice, nostr.Event{Content: fmt.Sprint(i), CreatedAt: nostr.Timestamp(now + i/3 - 1000)})
		events = append(events, e)
		if r != nil {
			r.Commit(t, e)
		}
	}
	return events
}

func TestNegotiationFindsTheExactDifference(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{Handlers: negLimits}, func(t *testing.T, r *harness.Relay, c *harness.Client) {
		theirs := notes(t, r, 0, 300)
		other := sign(t, bob, nostr.Event{Kind: 7})
		r.Commit(t, other)
		ours := notes(t, nil, 250, 400)
		have, need := reconcile(t, c, "x", `{"kinds":[1]}`, ours...)
		require.Equal(t, idsOf(ours[50:]...), have)
		require.Equal(t, idsOf(theirs[:250]...), need)
		have, need = reconcile(t, c, "x", `{}`)
		require.Empty(t, have)
		require.Equal(t, idsOf(append(theirs, other)...), need)
		_, need = reconcile(t, c, "x", `{"limit":2,"kinds":[1]}`)
		require.Equal(t, idsOf(theirs[298:]...), need, "limit counts as in a REQ")
		require.Zero(t, r.Handlers.Held())
	})
}

func TestNegotiationsHaveIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{Handlers: negLimits}, func(t *testing.T, r *harness.Relay, c *harness.Client) {
		require.Equal(t, []string{"EOSE x"}, verbs(say(t, c, `["REQ","x",{}]`)))
		require.Equal(t, []string{"NEG-MSG x"}, verbs(say(t, c, negOpen("x", `{}`, empty))))
		r.Commit(t, notes(t, nil, 0, 1)[0])
		r.Step(t)
		require.Len(t, c.Settle(), 1, "the subscription lives")
		require.Empty(t, say(t, c, `["CLOSE","x"]`))
		require.Equal(t, []string{"NEG-MSG x"}, verbs(say(t, c, `["NEG-MSG","x","61"]`)), "and so does the negotiation")
		require.Empty(t, say(t, c, `["NEG-CLOSE","x"]`))
		requireNegErr(t, sayOne(t, c, `["NEG-MSG","x","61"]`), "x", wire.Closed)
		require.Empty(t, say(t, c, `["NEG-CLOSE","x"]`))
	})
}

func TestNegotiationsThatAreRefused(t *testing.T) {
	t.Parallel()
	off, small, one, held := negLimits, negLimits, negLimits, negLimits
	off.NegRecords, small.NegRecords, one.NegSessions, held.NegHeld = 0, 4, 1, 7
	for name, test := range map[string]struct {
		limits handlers.Limits
		before string // is let in
		msg    string
		prefix wire.Prefix
	}{
		"turned off":           {off, "", negOpen("y", `{}`, empty), wire.Blocked},
		"too many events":      {small, negOpen("x", `{"limit":4}`, empty), negOpen("y", `{}`, empty), wire.Blocked},
		"a negotiation more":   {one, negOpen("x", `{}`, empty), negOpen("y", `{}`, empty), wire.Blocked},
		"more than is held":    {held, negOpen("x", `{"limit":5}`, empty), negOpen("y", `{}`, empty), wire.RateLimited},
		"search":               {negLimits, "", negOpen("y", `{"search":"x"}`, empty), wire.Unsupported},
		"private messages":     {negLimits, "", negOpen("y", `{"kinds":[1059]}`, empty), wire.AuthRequired},
		"no filter":            {negLimits, "", `["NEG-OPEN","y",[],"61"]`, wire.Invalid},
		"no hexadecimal":       {negLimits, "", `["NEG-OPEN","y",{},"6z"]`, wire.Invalid},
		"no message":           {negLimits, "", negOpen("y", `{}`, []byte{0x61, 1}), wire.Invalid},
		"a malformed message":  {negLimits, negOpen("y", `{}`, empty), `["NEG-MSG","y","610000"]`, wire.Invalid},
		"an unreadable one":    {negLimits, negOpen("y", `{}`, empty), `["NEG-MSG","y",5]`, wire.Invalid},
		"a message to nobody":  {negLimits, "", `["NEG-MSG","y","61"]`, wire.Closed},
		"of a negotiation too": {negLimits, negOpen("x", `{}`, empty), `["NEG-MSG","y","61"]`, wire.Closed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			talk(t, harness.Options{Handlers: test.limits}, func(t *testing.T, r *harness.Relay, c *harness.Client) {
				notes(t, r, 0, 5)
				if test.before != "" {
					require.Equal(t, "NEG-MSG", sayOne(t, c, test.before).Verb)
				}
				requireNegErr(t, sayOne(t, c, test.msg), "y", test.prefix)
				requireNegErr(t, sayOne(t, c, `["NEG-MSG","y","61"]`), "y", wire.Closed)
			})
		})
	}
}

func TestThereIsNoSearchInANegotiation(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{Handlers: negLimits, Search: true}, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
		require.Equal(t, "EOSE", sayOne(t, c, `["REQ","x",{"search":"a"}]`).Verb)
		requireNegErr(t, sayOne(t, c, negOpen("y", `{"search":"a"}`, empty)), "y", wire.Unsupported)
	})
}

func TestFailedNegotiationTellsNothing(t *testing.T) {
	t.Parallel()
	o := wrap(func(s store.Store) store.Store { return broken{s} })
	o.Handlers = negLimits
	talk(t, o, func(t *testing.T, r *harness.Relay, c *harness.Client) {
		m := sayOne(t, c, negOpen("x", `{}`, empty))
		requireNegErr(t, m, "x", wire.Failed)
		require.NotContains(t, m.Text, "secret")
		require.Zero(t, r.Handlers.Held())
	})
}

func TestOtherVersionIsToldOurs(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{Handlers: negLimits}, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
		require.Equal(t, []byte{0x61}, sayOne(t, c, negOpen("x", `{}`, []byte{0x62, 9, 9})).Message)
	})
}

func TestNewerNegotiationOfAnIDReplacesTheOlder(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{Handlers: negLimits}, func(t *testing.T, r *harness.Relay, c *harness.Client) {
		notes(t, r, 0, 3)
		require.Equal(t, "NEG-MSG", sayOne(t, c, negOpen("x", `{}`, empty)).Verb)
		require.EqualValues(t, 3, r.Handlers.Held())
		require.Equal(t, "NEG-MSG", sayOne(t, c, negOpen("x", `{"limit":1}`, empty)).Verb)
		require.EqualValues(t, 1, r.Handlers.Held())
		requireNegErr(t, sayOne(t, c, negOpen("x", `{"search":"a"}`, empty)), "x", wire.Unsupported)
		require.Zero(t, r.Handlers.Held(), "a refused one ends it too")
	})
}

func TestIdleNegotiationEnds(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{Handlers: negLimits}, func(t *testing.T, r *harness.Relay, c *harness.Client) {
		notes(t, r, 0, 3)
		require.Equal(t, "NEG-MSG", sayOne(t, c, negOpen("x", `{}`, empty)).Verb)
		pass(50 * time.Second)
		require.Equal(t, "NEG-MSG", sayOne(t, c, `["NEG-MSG","x","61"]`).Verb)
		pass(50 * time.Second)
		require.Equal(t, "NEG-MSG", sayOne(t, c, `["NEG-MSG","x","61"]`).Verb, "it counts from the last message")
		pass(61 * time.Second)
		frames := c.Settle()
		require.Len(t, frames, 1)
		m, err := wire.DecodeRelay([]byte(frames[0]))
		require.NoError(t, err)
		requireNegErr(t, m, "x", wire.Closed)
		require.Zero(t, r.Handlers.Held())
		requireNegErr(t, sayOne(t, c, `["NEG-MSG","x","61"]`), "x", wire.Closed)
	})
}

func TestNegotiationsEndWithTheirConnection(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{Handlers: negLimits}, func(t *testing.T, r *harness.Relay, c *harness.Client) {
		notes(t, r, 0, 3)
		require.Equal(t, "NEG-MSG", sayOne(t, c, negOpen("x", `{}`, empty)).Verb)
		require.EqualValues(t, 3, r.Handlers.Held())
		c.Disconnect(t)
		c.Settle()
		require.Zero(t, r.Handlers.Held())
	})
}
