package conformance_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// FIELD_REPORTS 24.
func TestGaugesReturnToZeroAfterChurn(t *testing.T) {
	t.Parallel()
	r := own(t)
	for round := range 5 {
		var peers []*peer
		for i := range 20 {
			p := r.dial(t)
			for j := range 5 {
				p.req(fmt.Sprint("s", j), `{"limit":1}`)
			}
			p.send(string(wire.AppendEventMessage(nil, p.note("churn", nostr.Now()))), message("REQ", "bad", `{"x":1}`), message("COUNT", "c", `{}`))
			if i%2 == 0 {
				p.settle()
			}
			peers = append(peers, p)
		}
		for i, p := range peers {
			if i%3 == round%3 {
				require.NoError(t, p.ws.Close(websocket.StatusNormalClosure, ""))
			} else {
				require.NoError(t, p.ws.CloseNow())
			}
		}
	}
	settled(t, r)
	require.Equal(t, 100.0, r.metric(t, "fencepost_connections_opened_total"))
}

// FIELD_REPORTS 24.
func TestBadConfigurationOnReloadKeepsTheOldOneAndSaysSo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "fencepost.toml")
	write := func(s string) { require.NoError(t, os.WriteFile(file, []byte(s), 0o600)) }
	write("[relay]\nname = \"before\"\n[subscriptions]\nmax_filters = 2\n")
	r := own(t, "CONFIG="+file)
	name := func() string { return document(t, r).Name }
	require.Equal(t, "before", name())
	lines := func(what string) int { return strings.Count(r.log.String(), what) }
	for i, bad := range []string{
		"[relay\n", "[relay]\nname = 5\n", "[relay]\nnmae = \"x\"\n", "[subscriptions]\nmax_filters = -1\n", "surplus = 1\n", "\xff\n",
	} {
		write(bad)
		require.NoError(t, r.cmd.Process.Signal(syscall.SIGHUP))
		eventually(t, "the relay says that nothing was reloaded", func() bool { return lines("not reloaded") == i+1 })
		require.Equal(t, "before", name(), "%q", bad)
	}
	require.NoError(t, os.Remove(file))
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGHUP))
	eventually(t, "no file is no configuration", func() bool { return lines("not reloaded") == 7 })

	p := r.dial(t)
	write("[relay]\nname = \"after\"\n[subscriptions]\nmax_filters = 3\n")
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGHUP))
	eventually(t, "a good one is loaded", func() bool { return name() == "after" })
	_, end := p.query(`{"limit":0}`, `{"kinds":[1],"limit":0}`, `{"kinds":[2],"limit":0}`)
	require.Equal(t, "EOSE", end.Verb, "an open connection has the new limit: %s", end.raw)
}

// E1: what was answered with OK is there after SIGKILL.
func TestAcknowledgedEventsSurviveSIGKILL(t *testing.T) {
	t.Parallel()
	r := own(t)
	p := r.dial(t)
	topic := random()
	events := p.notes(topic, 50)
	p.store(events...)
	for range 50 { // not acknowledged: they may be there or not
		p.send(string(wire.AppendEventMessage(nil, p.note(topic, nostr.Now()-1000))))
	}
	r.kill(t)
	require.NotEqual(t, websocket.StatusNormalClosure, p.ended())
	r.restart(t)
	again := r.dial(t)
	require.Subset(t, again.ids(on(topic, `"limit":500`)), idsOf(events))
	f := again.publish(events[0])
	require.Equal(t, "duplicate", prefixOf(f), f.raw)
}

// Drain: readers are told, 1001 is sent, and what was acknowledged is kept.
func TestSIGTERMTellsEverySubscriptionAndCloses1001(t *testing.T) {
	t.Parallel()
	r := own(t)
	p := r.dial(t)
	topic := random()
	p.req("x", on(topic))
	p.stored("x")
	e := p.note(topic, nostr.Now())
	p.store(e)
	p.passed()
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
	closed := p.answer("CLOSED", func(f frame) bool { return f.Verb == "CLOSED" && f.Sub == "x" })
	requirePrefix(t, closed)
	require.Equal(t, websocket.StatusGoingAway, p.ended())
	<-r.done
	require.NoError(t, r.err, "%s", r.log)
	r.restart(t)
	require.Equal(t, []string{e.ID}, r.dial(t).ids(on(topic)))
}

// The pages beside the socket.
func TestHealthAndReadinessSayTheTruth(t *testing.T) {
	t.Parallel()
	r := target(t, "RELAY_URLS=wss://Relay.Example/nostr,wss://other.example:444/nostr/")
	for path, status := range map[string]int{
		"/healthz": http.StatusOK, "/readyz": http.StatusOK, "/metrics": http.StatusOK, "/nostr": http.StatusOK, "/nostr/": http.StatusOK,
		"/": http.StatusNotFound, "/nostr/x": http.StatusNotFound, "/favicon.ico": http.StatusNotFound,
	} {
		_, got, err := get(r.page(path))
		require.NoError(t, err)
		require.Equal(t, status, got, path)
	}
}
