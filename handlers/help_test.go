package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// alice and bob are secret keys.
const (
	alice = "0000000000000000000000000000000000000000000000000000000000000003"
	bob   = "0000000000000000000000000000000000000000000000000000000000000004"
)

// now is the time at which every bubble begins, in Unix seconds.
const now = 946684800

// talk runs test in a bubble of its own, with one client of a relay.
func talk(t *testing.T, o harness.Options, test func(t *testing.T, r *harness.Relay, c *harness.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := harness.New(t, o)
		test(t, r, r.Connect(t))
	})
}

// say sends msg and returns what is answered, all of it.
func say(t *testing.T, c *harness.Client, msg string) []wire.RelayMessage {
	t.Helper()
	c.Send(msg)
	var out []wire.RelayMessage
	for _, frame := range c.Settle() {
		m, err := wire.DecodeRelay([]byte(frame))
		require.NoError(t, err)
		out = append(out, m)
	}
	return out
}

// sayOne sends msg and returns its one answer.
func sayOne(t *testing.T, c *harness.Client, msg string) wire.RelayMessage {
	t.Helper()
	got := say(t, c, msg)
	require.Len(t, got, 1)
	return got[0]
}

// sign finishes ev: created now and of kind 1 unless it says something else.
func sign(t *testing.T, key string, ev nostr.Event) *wire.Event {
	t.Helper()
	if ev.CreatedAt == 0 {
		ev.CreatedAt = now
	}
	if ev.Kind == 0 {
		ev.Kind = 1
	}
	require.NoError(t, ev.Sign(key))
	return wire.NewEvent(ev)
}

func publish(ev *wire.Event) string { return string(wire.AppendEventMessage(nil, ev)) }

// requireOK expects m to be the verdict on ev. An empty prefix means that
// nothing is said beside it.
func requireOK(t *testing.T, m wire.RelayMessage, ev *wire.Event, ok bool, prefix wire.Prefix) {
	t.Helper()
	require.Equal(t, "OK", m.Verb)
	require.Equal(t, ev.ID, m.ID, "the id that was sent")
	require.Equal(t, ok, m.OK, m.Text)
	requirePrefix(t, m.Text, prefix)
}

func requirePrefix(t *testing.T, text string, prefix wire.Prefix) {
	t.Helper()
	if prefix == "" {
		require.Empty(t, text)
		return
	}
	require.True(t, strings.HasPrefix(text, string(prefix)+": "), "%q does not begin with %s", text, prefix)
}

// verbs returns "VERB sub" of each message.
func verbs(messages []wire.RelayMessage) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = strings.TrimSpace(m.Verb + " " + m.Sub)
	}
	return out
}

// auth answers c's challenge, with changes.
func auth(t *testing.T, c *harness.Client, key string, change func(*nostr.Event)) *wire.Event {
	t.Helper()
	ev := nostr.Event{
		Kind: nostr.KindClientAuthentication, CreatedAt: now,
		Tags: nostr.Tags{{"relay", "ws://relay.test"}, {"challenge", c.Challenge}},
	}
	if change != nil {
		change(&ev)
	}
	require.NoError(t, ev.Sign(key))
	return wire.NewEvent(ev)
}

func authMessage(ev *wire.Event) string { return string(wire.AppendAuthMessage(nil, ev)) }

// authenticate makes key one of c's keys.
func authenticate(t *testing.T, c *harness.Client, key string) {
	t.Helper()
	ev := auth(t, c, key, nil)
	requireOK(t, sayOne(t, c, authMessage(ev)), ev, true, "")
}

var errDisk = errors.New("disk /dev/secret is broken")

// broken is a store whose calls fail.
type broken struct{ store.Store }

func (broken) Append(_ context.Context, writes []store.Write) []store.Outcome {
	out := make([]store.Outcome, len(writes))
	for i := range out {
		out[i].Err = errDisk
	}
	return out
}

func (broken) Snapshot(context.Context) (store.Snapshot, error) { return nil, errDisk }

func wrap(f func(store.Store) store.Store) harness.Options { return harness.Options{Wrap: f} }

// pass lets the bubble's clock go on.
func pass(d time.Duration) { <-time.After(d) }

// filters returns n filters, no two alike.
func filters(n int) (list string) {
	for i := range n {
		list += fmt.Sprintf(`,{"kinds":[%d]}`, i)
	}
	return list
}

func list(n int) string {
	kinds := make([]string, n)
	for i := range kinds {
		kinds[i] = fmt.Sprint(i)
	}
	return "[" + strings.Join(kinds, ",") + "]"
}
