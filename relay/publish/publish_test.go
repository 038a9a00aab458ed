package publish_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/fence"
	"fencepost/relay/web/nip98"
)

func TestAStreamMovesFromOneOwnerToTheNext(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	require.Equal(t, map[string]any{"stream": "s", "epoch": 1.0, "active": true, "lease_seconds": 60.0}, a.set(t, alice, "s", "", one, true).body)
	first := event(t, bob, "1")
	require.Equal(t, map[string]any{
		"stream": "s", "duplicate": false, "position": 1.0, "epoch": 1.0, "number": 1.0,
	}, a.frame(t, alice, "s", one, first).body, "the author need not be the stream's key")
	requireRefused(t, a.set(t, alice, "s", "", two, true), 409, "ABORTED", 1)
	require.EqualValues(t, 2, a.set(t, alice, "s", one, two, true).body["epoch"])
	requireRefused(t, a.frame(t, alice, "s", one, event(t, bob, "2")), 412, "FAILED_PRECONDITION", 2)
	again := a.frame(t, alice, "s", one, first)
	require.Equal(t, map[string]any{
		"stream": "s", "duplicate": true, "position": 1.0, "message": "duplicate: already have this event",
	}, again.body, "P16: what was admitted in its time")
	require.EqualValues(t, 2, a.frame(t, alice, "s", two, event(t, bob, "3")).body["number"])
	requireRefused(t, a.frame(t, alice, "s", two, event(t, bob, "unwanted")), 422, "REFUSED", 0)
	require.EqualValues(t, 3, a.frame(t, alice, "s", two, event(t, bob, "4")).body["number"])
	require.Equal(t, 200, a.set(t, alice, "s", two, two, false).status)
	requireRefused(t, a.frame(t, alice, "s", two, event(t, bob, "5")), 412, "FAILED_PRECONDITION", 2)
	requireRefused(t, a.set(t, alice, "s", two, two, true), 412, "FAILED_PRECONDITION", 2)
}

func TestStreamsBelongToTheKeyThatSigned(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	require.Equal(t, 200, a.set(t, alice, "s", "", one, true).status)
	require.Equal(t, 404, a.call(t, bob, "GET", "/api/publishers/s", nil).status)
	requireRefused(t, a.frame(t, bob, "s", one, event(t, bob, "1")), 412, "FAILED_PRECONDITION", 0)
	requireRefused(t, a.set(t, bob, "s", one, one, false), 409, "ABORTED", 0)
	require.EqualValues(t, 1, a.set(t, bob, "s", "", two, true).body["epoch"])
	require.EqualValues(t, 1, a.frame(t, alice, "s", one, event(t, alice, "1")).body["number"])
	requireRefused(t, a.set(t, mallory, "s", "", one, true), 403, "PERMISSION_DENIED", 0)
}

func TestAFenceIsShownWithoutItsToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		require.Equal(t, 200, a.set(t, alice, "s", "", one, true).status)
		require.Equal(t, 200, a.frame(t, alice, "s", one, event(t, alice, "1")).status)
		<-time.After(20 * time.Second)
		got := a.call(t, alice, "GET", "/api/publishers/s", nil)
		require.Equal(t, map[string]any{
			"stream": "s", "epoch": 1.0, "active": true, "expired": false, "lease_seconds": 60.0, "lease_left_ms": 40000.0,
			"next_number": 2.0, "pending": 0.0,
		}, got.body)
		<-time.After(time.Minute)
		got = a.call(t, alice, "GET", "/api/publishers/s", nil)
		require.Equal(t, true, got.body["expired"])
		require.Equal(t, 0.0, got.body["lease_left_ms"])
	})
}

// P18, NIP-98: a signed call is good for itself, and once.
func TestACallIsSignedForItselfAndOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const path = "/api/publishers/s/fence"
	body := []byte(`{"new_token":"` + one + `","active":true}`)
	header := func(method, url string, body []byte) func(*http.Request) {
		h, err := nip98.Header(alice, method, base+url, body, time.Now())
		require.NoError(t, err)
		return func(r *http.Request) { r.Header.Set("Authorization", h) }
	}
	for name, sign := range map[string]func(*http.Request){
		"not at all":          func(*http.Request) {},
		"for another method":  header("PUT", path, body),
		"for another stream":  header("POST", "/api/publishers/t/fence", body),
		"for another body":    header("POST", path, []byte(`{}`)),
		"for another call":    header("POST", "/api/publishers/s/frames", body),
		"without its payload": header("POST", path, nil),
	} {
		got := a.send(t, "POST", path, body, sign)
		requireRefused(t, got, 401, "UNAUTHENTICATED", 0)
		require.Equal(t, "Nostr", got.header.Get("WWW-Authenticate"), name)
	}
	once := header("POST", path, body)
	require.Equal(t, 200, a.send(t, "POST", path, body, once).status)
	requireRefused(t, a.send(t, "POST", path, body, once), 401, "UNAUTHENTICATED", 0)
}

func TestBodiesAreReadStrictly(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	require.Equal(t, 200, a.set(t, alice, "s", "", one, true).status)
	ev := string(event(t, alice, "1").Raw())
	for _, row := range []struct{ call, body string }{
		{"fence", ``},
		{"fence", `null`},
		{"fence", `[]`},
		{"fence", `{}`},
		{"fence", `{"new_token":"` + one + `"}`},
		{"fence", `{"active":true}`},
		{"fence", `{"new_token":"` + one + `","active":true} {}`},
		{"fence", `{"new_token":"` + one + `","active":true`},
		{"fence", `{"new_token":"` + one + `","active":true,"active":true}`},
		{"fence", `{"new_token":"` + one + `","Active":true}`},
		{"fence", `{"new_token":"` + one + `","active":true,"more":1}`},
		{"fence", `{"new_token":"` + one + `","active":1}`},
		{"fence", `{"new_token":"` + one + `","active":null}`},
		{"fence", `{"new_token":null,"active":true}`},
		{"fence", `{"new_token":"short","active":true}`},
		{"fence", `{"new_token":"` + strings.Repeat("x", 129) + `","active":true}`},
		{"fence", `{"new_token":"` + one + `\u0000","active":true}`},
		{"fence", "{\"new_token\":\"" + one + "\xff\",\"active\":true}"},
		{"fence", `{"new_token":"` + one + `","active":true,"expected_token":"short"}`},
		{"fence", `{"new_token":"` + one + `","active":true,"lease_seconds":0}`},
		{"fence", `{"new_token":"` + one + `","active":true,"lease_seconds":3601}`},
		{"fence", `{"new_token":"` + one + `","active":true,"lease_seconds":1.5}`},
		{"fence", `{"new_token":"` + one + `","active":true,"lease_seconds":"60"}`},
		{"fence", `{"new_token":"` + one + `","active":true,"lease_seconds":null}`},
		{"frames", `{"token":"` + one + `"}`},
		{"frames", `{"event":` + ev + `}`},
		{"frames", `{"token":"` + one + `","event":null}`},
		{"frames", `{"token":"` + one + `","event":{}}`},
		{"frames", `{"token":"` + one + `","event":` + ev + `,"event":` + ev + `}`},
		{"frames", `{"token":"short","event":` + ev + `}`},
	} {
		got := a.call(t, alice, "POST", "/api/publishers/s/"+row.call, row.body)
		requireRefused(t, got, 400, "INVALID_ARGUMENT", 0)
	}
	info, err := a.store.Log(t.Context())
	require.NoError(t, err)
	require.Zero(t, info.Head)
}

func TestTheFormOfACallIsLookedAtFirst(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	ok := event(t, alice, "1")
	for _, path := range []string{"/api/publishers/a%20b", "/api/publishers/" + strings.Repeat("x", 65), "/api/publishers/a%2Fb"} {
		require.Equal(t, 400, a.call(t, alice, "GET", path, nil).status, path)
	}
	for _, row := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/api/publishers/s/fence", 405},
		{"POST", "/api/publishers/s", 405},
		{"PUT", "/api/publishers/s/frames", 405},
		{"POST", "/api/openapi.json", 405},
		{"GET", "/api/publishers/", 404},
		{"GET", "/api/publishers/s/more/", 404},
		{"GET", "/api/", 404},
		{"OPTIONS", "/api/publishers/s/frames", 204},
	} {
		got := a.send(t, row.method, row.path, nil, func(*http.Request) {})
		require.Equal(t, row.status, got.status, row.path)
		require.Equal(t, row.status == 405 || row.status == 204, got.header.Get("Allow") != "")
	}
	require.Equal(t, 413, a.frame(t, alice, "s", one, event(t, alice, strings.Repeat("x", 2000))).status)
	plain := a.send(t, "POST", "/api/publishers/s/frames", ok.Raw(), func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") })
	requireRefused(t, plain, 415, "INVALID_ARGUMENT", 0)
}

func TestWhatAnEngineSaysHasItsStatus(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	ev := event(t, alice, "1")
	for code, status := range map[fence.Code]int{fence.Aborted: 409, fence.FailedPrecondition: 412, fence.ResourceExhausted: 429} {
		a.serve(broken{&fence.Error{Code: code, Text: "why", Epoch: 7}})
		requireRefused(t, a.set(t, alice, "s", "", one, true), status, string(code), 7)
		requireRefused(t, a.frame(t, alice, "s", one, ev), status, string(code), 7)
	}
	a.serve(broken{errors.New("secret of the database")})
	for _, got := range []answer{
		a.set(t, alice, "s", "", one, true), a.frame(t, alice, "s", one, ev), a.call(t, alice, "GET", "/api/publishers/s", nil),
	} {
		requireRefused(t, got, 500, "INTERNAL", 0)
		text, err := json.Marshal(got.body)
		require.NoError(t, err)
		require.NotContains(t, string(text), "database")
	}
}
