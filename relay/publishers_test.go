package relay_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/regress/dapr"
	"fencepost/regress/postgres"
	"fencepost/relay/config"
	"fencepost/relay/web/nip98"
)

const publisherKey = "0000000000000000000000000000000000000000000000000000000000000009"

// publishes makes one call of the publishers' API and returns its status and answer.
func (r *running) publishes(t *testing.T, method, path string, body any) (int, map[string]any) {
	t.Helper()
	var raw []byte
	if body != nil {
		var err error
		raw, err = json.Marshal(body)
		require.NoError(t, err)
	}
	url := "http://" + r.url + path
	header, err := nip98.Header(publisherKey, method, url, raw, time.Now().Add(time.Second)) // a relay that has just started takes none of this second
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(raw))
	require.NoError(t, err)
	request.Header.Set("Authorization", header)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	var out map[string]any
	require.NoError(t, json.Unmarshal(text, &out), string(text))
	return answer.StatusCode, out
}

// A frame of a stream reaches subscribers like every event.
func TestAFencedPublisherIsHeardByEverybody(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	status, _ := r.publishes(t, "GET", "/api/publishers/s", nil)
	require.Equal(t, http.StatusNotFound, status)
	c := r.dial(t)
	send(t, c, `["REQ","all",{"kinds":[1]}]`)
	require.Equal(t, "EOSE", next(t, c).Verb)
	const token = "a token of the first owner"
	status, got := r.publishes(t, "POST", "/api/publishers/s/fence", map[string]any{"new_token": token, "active": true})
	require.Equal(t, 200, status, got)
	ev := note(t, "by HTTP")
	frame := map[string]any{"token": token, "event": json.RawMessage(ev.Raw())}
	status, got = r.publishes(t, "POST", "/api/publishers/s/frames", frame)
	require.Equal(t, 200, status, got)
	require.EqualValues(t, 1, got["number"])
	require.Equal(t, ev.ID, next(t, c).Event.ID)
	status, got = r.publishes(t, "POST", "/api/publishers/s/frames", frame)
	require.Equal(t, 200, status, got)
	require.Equal(t, true, got["duplicate"])
	protected := nostr.Event{Kind: 1, CreatedAt: nostr.Now(), Tags: nostr.Tags{{"-"}}}
	require.NoError(t, protected.Sign("0000000000000000000000000000000000000000000000000000000000000008"))
	status, got = r.publishes(t, "POST", "/api/publishers/s/frames", map[string]any{"token": token, "event": protected})
	require.Equal(t, http.StatusUnprocessableEntity, status, got)
	require.Contains(t, got["message"], "restricted: ")
}

// Whoever serves a call, one that is not signed is refused in the same words.
func TestUnsignedCallsAreRefusedInOneForm(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), operated(t))
	for path, kind := range map[string]string{
		"/": "application/nostr+json+rpc", "/api/publishers/s/fence": "application/json", "/api/publishers/s": "", "/api/presence": "", "/api/sessions": "",
	} {
		method := http.MethodGet
		if kind != "" {
			method = http.MethodPost
		}
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.url+path, http.NoBody)
		require.NoError(t, err)
		request.Header.Set("Content-Type", kind)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode, path)
		require.Equal(t, "Nostr", answer.Header.Get("WWW-Authenticate"), path)
		const why = "auth-required: the request has no Authorization header (NIP-98)"
		require.JSONEq(t, `{"code":"UNAUTHENTICATED","message":"`+why+`","error":"`+why+`"}`, string(text), path)
	}
}

// With a sidecar the fences stand beside the store, and what is published is in the store.
func TestFencesCanStandBesideTheStore(t *testing.T) {
	t.Parallel()
	m := dapr.NewMemory(dapr.Redis)
	sidecar := httptest.NewServer(dapr.Sidecar(m))
	t.Cleanup(sidecar.Close)
	r := start(t, t.TempDir(), func(c *config.Config) { c.Publishers.DaprURL = sidecar.URL })
	const token = "a token of the first owner"
	status, got := r.publishes(t, "POST", "/api/publishers/s/fence", map[string]any{"new_token": token, "active": true})
	require.Equal(t, 200, status, got)
	ev := note(t, "by HTTP")
	frame := map[string]any{"token": token, "event": json.RawMessage(ev.Raw())}
	status, got = r.publishes(t, "POST", "/api/publishers/s/frames", frame)
	require.Equal(t, 200, status, got)
	require.EqualValues(t, 1, got["number"])
	require.Equal(t, 1, m.Keys("stream-"))
	status, got = r.publishes(t, "POST", "/api/publishers/s/frames", frame)
	require.Equal(t, 200, status, got)
	require.Equal(t, true, got["duplicate"])
	protected := nostr.Event{Kind: 1, CreatedAt: nostr.Now(), Tags: nostr.Tags{{"-"}}}
	require.NoError(t, protected.Sign("0000000000000000000000000000000000000000000000000000000000000008"))
	status, got = r.publishes(t, "POST", "/api/publishers/s/frames", map[string]any{"token": token, "event": protected})
	require.Equal(t, http.StatusUnprocessableEntity, status, got)
	c := r.dial(t)
	send(t, c, `["REQ","all",{"kinds":[1]}]`)
	require.Equal(t, ev.ID, next(t, c).Event.ID)
	require.Equal(t, "EOSE", next(t, c).Verb)
}

// P6, P18: a stream is one for all replicas, and so is the memory of signed calls.
func TestReplicasShareStreamsAndSignedCalls(t *testing.T) {
	t.Parallel()
	all := replicas(t, postgres.Start(t).Database(t), 2, called("wss://relay.example"))
	body, err := json.Marshal(map[string]any{"new_token": "a token of the first owner", "active": true})
	require.NoError(t, err)
	const path = "/api/publishers/s/fence"
	header, err := nip98.Header(publisherKey, "POST", "https://relay.example"+path, body, time.Now())
	require.NoError(t, err)
	var statuses []int
	for _, r := range all {
		request, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+r.url+path, bytes.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Authorization", header)
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		statuses = append(statuses, answer.StatusCode)
	}
	require.Equal(t, []int{200, 401}, statuses, "a signed call is used once, whichever replica it comes to")
}

// A successor takes over on another replica, and the first owner is refused on its own.
func TestAStreamMovesBetweenReplicas(t *testing.T) {
	t.Parallel()
	all := replicas(t, postgres.Start(t).Database(t), 2)
	const one, two = "a token of the first owner", "a token of the second one"
	publish := func(r *running, token string) (int, map[string]any) {
		ev := note(t, "by "+token)
		return r.publishes(t, "POST", "/api/publishers/s/frames", map[string]any{"token": token, "event": json.RawMessage(ev.Raw())})
	}
	status, got := all[0].publishes(t, "POST", "/api/publishers/s/fence", map[string]any{"new_token": one, "active": true})
	require.Equal(t, 200, status, got)
	status, got = publish(all[1], one)
	require.Equal(t, 200, status, got)
	require.EqualValues(t, 1, got["number"])
	status, got = all[1].publishes(t, "POST", "/api/publishers/s/fence", map[string]any{"expected_token": one, "new_token": two, "active": true})
	require.Equal(t, 200, status, got)
	status, got = publish(all[0], one)
	require.Equal(t, http.StatusPreconditionFailed, status, got)
	require.EqualValues(t, 2, got["epoch"])
	status, got = publish(all[0], two)
	require.Equal(t, 200, status, got)
	require.EqualValues(t, 2, got["number"])
}
