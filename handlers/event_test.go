package handlers_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip13"
	"github.com/stretchr/testify/require"

	"fencepost/handlers"
	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

func TestLimitsOfAnEventAreExact(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		limits handlers.Limits
		event  nostr.Event
		ok     bool
	}{
		{"no limits", handlers.Limits{}, nostr.Event{CreatedAt: 1, Content: strings.Repeat("x", 1000)}, true},
		{"as many tags as may be", handlers.Limits{Tags: 2}, nostr.Event{Tags: nostr.Tags{{"t", "a"}, {"t", "b"}}}, true},
		{"a tag too many", handlers.Limits{Tags: 2}, nostr.Event{Tags: nostr.Tags{{"t", "a"}, {"t", "b"}, {"t", "c"}}}, false},
		{"content as long as may be, in characters", handlers.Limits{Content: 5}, nostr.Event{Content: "äöü€𝄞"}, true},
		{"a character too many", handlers.Limits{Content: 5}, nostr.Event{Content: "abcdef"}, false},
		{"a tag value as long as may be", handlers.Limits{TagValue: 3}, nostr.Event{Tags: nostr.Tags{{"t", "äöü"}}}, true},
		{"a tag value that is longer", handlers.Limits{TagValue: 3}, nostr.Event{Tags: nostr.Tags{{"t", "a", "abcd"}}}, false},
		{"as old as may be", handlers.Limits{CreatedPast: time.Hour}, nostr.Event{CreatedAt: now - 3600}, true},
		{"a second older", handlers.Limits{CreatedPast: time.Hour}, nostr.Event{CreatedAt: now - 3601}, false},
		{"as early as may be", handlers.Limits{CreatedFuture: time.Minute}, nostr.Event{CreatedAt: now + 60}, true},
		{"a second earlier", handlers.Limits{CreatedFuture: time.Minute}, nostr.Event{CreatedAt: now + 61}, false},
		{"the far future", handlers.Limits{CreatedFuture: time.Minute}, nostr.Event{CreatedAt: 1<<63 - 1}, false},
		{"the far future without a limit", handlers.Limits{CreatedPast: time.Hour}, nostr.Event{CreatedAt: 1<<63 - 1}, true},
		{"an expiration that is no number", handlers.Limits{}, nostr.Event{Tags: nostr.Tags{{"expiration", "soon"}}}, false},
		{"an expiration in the far future", handlers.Limits{}, nostr.Event{Tags: nostr.Tags{{"expiration", "99999999999999999999"}}}, true},
		{"kind 22242", handlers.Limits{}, nostr.Event{Kind: nostr.KindClientAuthentication}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			talk(t, harness.Options{Handlers: test.limits}, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
				ev := sign(t, alice, test.event)
				prefix := wire.Invalid
				if test.ok {
					prefix = ""
				}
				requireOK(t, sayOne(t, c, publish(ev)), ev, test.ok, prefix)
			})
		})
	}
}

func TestWorkIsCountedInTheID(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{Handlers: handlers.Limits{MinPoW: 6}}, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
		var enough, short *wire.Event
		for n := 0; enough == nil || short == nil; n++ {
			// What the tag commits to does not count, the id does.
			ev := sign(t, alice, nostr.Event{Tags: nostr.Tags{{"nonce", strconv.Itoa(n), "30"}}})
			switch got := nip13.Difficulty(ev.ID); {
			case got >= 6:
				enough = ev
			case got == 5:
				short = ev
			}
		}
		requireOK(t, sayOne(t, c, publish(enough)), enough, true, "")
		requireOK(t, sayOne(t, c, publish(short)), short, false, wire.PoW)
	})
}

func TestIDAndSignatureAreChecked(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{}, func(t *testing.T, r *harness.Relay, c *harness.Client) {
		changed := sign(t, alice, nostr.Event{Content: "true"}).Event
		changed.Content = "false"
		forged := sign(t, alice, nostr.Event{Content: "true"}).Event
		forged.Sig = sign(t, bob, nostr.Event{}).Sig
		for _, ev := range []nostr.Event{changed, forged} {
			bad := wire.NewEvent(ev)
			requireOK(t, sayOne(t, c, publish(bad)), bad, false, wire.Invalid)
		}
		info, err := r.Store.Log(t.Context())
		require.NoError(t, err)
		require.Zero(t, info.Head, "nothing was written")
	})
}

func TestProtectedEventsAreTakenFromTheirAuthorOnly(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{}, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
		ev := sign(t, alice, nostr.Event{Tags: nostr.Tags{{"-"}}})
		requireOK(t, sayOne(t, c, publish(ev)), ev, false, wire.AuthRequired)
		authenticate(t, c, bob)
		requireOK(t, sayOne(t, c, publish(ev)), ev, false, wire.Restricted)
		authenticate(t, c, alice)
		requireOK(t, sayOne(t, c, publish(ev)), ev, true, "")
	})
}

func TestRepostsOfProtectedEventsAreRefused(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{}, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
		protected := string(sign(t, alice, nostr.Event{Tags: nostr.Tags{{"-"}}}).Raw())
		open := string(sign(t, alice, nostr.Event{}).Raw())
		authenticate(t, c, alice)
		for _, kind := range []int{6, 16} {
			bad := sign(t, alice, nostr.Event{Kind: kind, Content: protected})
			requireOK(t, sayOne(t, c, publish(bad)), bad, false, wire.Blocked)
			good := sign(t, alice, nostr.Event{Kind: kind, Content: open})
			requireOK(t, sayOne(t, c, publish(good)), good, true, "")
		}
		quoted := sign(t, alice, nostr.Event{Kind: 1, Content: protected})
		requireOK(t, sayOne(t, c, publish(quoted)), quoted, true, "")
	})
}

func TestPublishingCanNeedAuthentication(t *testing.T) {
	t.Parallel()
	talk(t, harness.Options{Auth: "write"}, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
		ev := sign(t, alice, nostr.Event{})
		requireOK(t, sayOne(t, c, publish(ev)), ev, false, wire.AuthRequired)
		require.Equal(t, []string{"EOSE x"}, verbs(say(t, c, `["REQ","x",{}]`)), "reading does not")
		authenticate(t, c, bob)
		requireOK(t, sayOne(t, c, publish(ev)), ev, true, "")
	})
}

func TestEveryDecisionOfTheStoreHasItsAnswer(t *testing.T) {
	t.Parallel()
	type step struct {
		event  nostr.Event
		ok     bool
		prefix wire.Prefix
	}
	address := nostr.Tag{"a", "30000:" + pubkey(t, alice) + ":d"}
	tests := []struct {
		name  string
		steps []step
	}{
		{"a duplicate", []step{{nostr.Event{}, true, ""}, {nostr.Event{}, true, wire.Duplicate}}},
		{"an older version", []step{
			{nostr.Event{Kind: 10002, CreatedAt: now}, true, ""},
			{nostr.Event{Kind: 10002, CreatedAt: now - 1}, false, wire.Duplicate},
			{nostr.Event{Kind: 10002, CreatedAt: now + 1}, true, ""},
		}},
		{"a deleted version", []step{
			{nostr.Event{Kind: 5, Tags: nostr.Tags{address}}, true, ""},
			{nostr.Event{Kind: 30000, Tags: nostr.Tags{{"d", "d"}}}, false, wire.Blocked},
			{nostr.Event{Kind: 30000, CreatedAt: now + 1, Tags: nostr.Tags{{"d", "d"}}}, true, ""},
		}},
		{"an expired event", []step{
			{nostr.Event{Tags: nostr.Tags{{"expiration", strconv.Itoa(now)}}}, false, wire.Invalid},
			{nostr.Event{Tags: nostr.Tags{{"expiration", "0"}}}, false, wire.Invalid},
			{nostr.Event{Tags: nostr.Tags{{"expiration", strconv.Itoa(now + 1)}}}, true, ""},
		}},
		{"an ephemeral event", []step{{nostr.Event{Kind: 20001}, true, ""}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			talk(t, harness.Options{}, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
				for _, s := range test.steps {
					ev := sign(t, alice, s.event)
					requireOK(t, sayOne(t, c, publish(ev)), ev, s.ok, s.prefix)
				}
			})
		})
	}
}

func pubkey(t *testing.T, secret string) string {
	t.Helper()
	key, err := nostr.GetPublicKey(secret)
	require.NoError(t, err)
	return key
}

func TestFailedCommitIsNotAcknowledgedAndTellsNothing(t *testing.T) {
	t.Parallel()
	o := wrap(func(s store.Store) store.Store { return broken{s} })
	talk(t, o, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
		ev := sign(t, alice, nostr.Event{})
		m := sayOne(t, c, publish(ev))
		requireOK(t, m, ev, false, wire.Failed)
		require.NotContains(t, m.Text, "secret")
	})
}

// gated is a store that commits when it is told to.
type gated struct {
	store.Store
	open chan struct{}
}

func (g gated) Append(ctx context.Context, writes []store.Write) []store.Outcome {
	<-g.open
	return g.Store.Append(ctx, writes)
}

func TestNothingIsAcknowledgedBeforeItsCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		r := harness.New(t, wrap(func(s store.Store) store.Store { return gated{s, open} }))
		c := r.Connect(t)
		for n := range 3 {
			require.Empty(t, say(t, c, publish(sign(t, alice, nostr.Event{Content: strconv.Itoa(n)}))))
		}
		require.Equal(t, "COUNT", sayOne(t, c, `["COUNT","c",{}]`).Verb, "other answers do not wait")
		close(open)
		require.Len(t, c.Settle(), 3)
	})
}

// One bad event in the middle of a batch changes no other verdict.
func TestVerdictsBelongToTheirEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		r := harness.New(t, wrap(func(s store.Store) store.Store { return gated{s, open} }))
		c := r.Connect(t)
		want := map[string]bool{}
		for n := range 9 {
			ev := sign(t, alice, nostr.Event{Content: strconv.Itoa(n)})
			if n%3 == 1 {
				spoilt := ev.Event
				spoilt.Sig = strings.Repeat("0", 128)
				ev = wire.NewEvent(spoilt)
			}
			want[ev.ID] = n%3 != 1
			c.Send(publish(ev))
		}
		close(open)
		got := map[string]bool{}
		for _, frame := range c.Settle() {
			m, err := wire.DecodeRelay([]byte(frame))
			require.NoError(t, err)
			got[m.ID] = m.OK
		}
		require.Equal(t, want, got)
	})
}

func TestAVerdictOfTheStoreBelongsToItsEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		r := harness.New(t, wrap(func(s store.Store) store.Store { return gated{s, open} }))
		c := r.Connect(t)
		first, second := sign(t, alice, nostr.Event{Content: "1"}), sign(t, alice, nostr.Event{Content: "2"})
		for _, ev := range []*wire.Event{first, first, second, second, first} { // the rest is one batch
			c.Send(publish(ev))
		}
		close(open)
		var got []string
		for _, frame := range c.Settle() {
			m, err := wire.DecodeRelay([]byte(frame))
			require.NoError(t, err)
			prefix, _, _ := strings.Cut(m.Text, ":")
			got = append(got, m.ID+prefix)
		}
		require.Equal(t, []string{
			first.ID, first.ID + "duplicate", second.ID, second.ID + "duplicate", first.ID + "duplicate",
		}, got)
	})
}
