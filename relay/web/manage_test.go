package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/config"
	"fencepost/relay/web"
	"fencepost/relay/web/nip98"
	"fencepost/relay/wire"
)

const (
	operatorKey = "0000000000000000000000000000000000000000000000000000000000000001"
	strangerKey = "0000000000000000000000000000000000000000000000000000000000000002"

	rpc = "application/nostr+json+rpc"
)

// manager is one with three methods.
type manager struct{}

func (manager) Call(_ context.Context, method string, params []json.RawMessage) (any, error) {
	switch method {
	case "echo":
		return params, nil
	case "refuse":
		return nil, wire.Because(wire.Invalid, "not <so>")
	}
	return nil, errors.New("a secret of the store")
}

// managed is a relay with an operator.
func managed(t *testing.T, log io.Writer, gate ...func(http.Handler) http.Handler) *relay {
	t.Helper()
	gate = append(gate, nil)
	verifier := func() *nip98.Verifier {
		return nip98.New(nip98.Options{
			Now: time.Now, Ledger: nip98.NewMemory(100, time.Now),
			Bases: func(r *http.Request) []string { return []string{"ws://" + r.Host} },
		})
	}
	r := serve(t, web.Options{
		Gate: gate[0], Manager: manager{}, Roster: nobody{}, Logger: slog.New(slog.NewTextHandler(log, nil)),
		Verifier: verifier(), Strangers: verifier(),
	})
	operator, err := nostr.GetPublicKey(operatorKey)
	require.NoError(t, err)
	r.set(func(c *config.Config) { c.Relay.PubKey = operator })
	return r
}

// call posts a body, signed by key unless that is "".
func (r *relay) call(t *testing.T, key, kind, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", kind)
	if key != "" {
		h, err := nip98.Header(key, http.MethodPost, r.URL, []byte(body), time.Now())
		require.NoError(t, err)
		req.Header.Set("Authorization", h)
	}
	return r.do(t, req)
}

func (r *relay) do(t *testing.T, req *http.Request) (*http.Response, string) {
	t.Helper()
	resp, err := r.Client().Do(req)
	require.NoError(t, err)
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
	require.Equal(t, resp.StatusCode == http.StatusUnauthorized, resp.Header.Get("WWW-Authenticate") == "Nostr")
	return resp, string(answer)
}

func TestCallsOfTheOperatorReachTheManager(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := managed(t, &log)
	for _, row := range []struct{ body, want string }{
		{`{"method":"echo","params":["a",{"b":null},1.5]}`, `{"result":["a",{"b":null},1.5]}`},
		{`{"method":"echo","params":[],"id":1}`, `{"result":[]}`},
		{`{"method":"refuse"}`, `{"error":"invalid: not <so>"}`},
		{`{"method":"break","params":[]}`, `{"error":"error: could not carry out the method"}`},
	} {
		resp, answer := r.call(t, operatorKey, rpc, row.body)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, rpc, resp.Header.Get("Content-Type"))
		require.JSONEq(t, row.want, answer)
	}
	require.Contains(t, log.String(), "a secret of the store")
	resp, _ := r.call(t, operatorKey, rpc+"; charset=UTF-8", `{"method":"echo","params":[2]}`)
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

func TestRequestsThatAreNoCallAreRefused(t *testing.T) {
	t.Parallel()
	r := managed(t, io.Discard)
	for _, row := range []struct {
		key, kind, body string
		status          int
		want            string
	}{
		{"", rpc, `{"method":"echo"}`, http.StatusUnauthorized, "auth-required: "},
		{strangerKey, rpc, `{"method":"echo"}`, http.StatusForbidden, "restricted: only the operator"},
		{operatorKey, "application/json", `{"method":"echo"}`, http.StatusUnsupportedMediaType, "unsupported: "},
		{operatorKey, "", `{"method":"echo"}`, http.StatusUnsupportedMediaType, "unsupported: "},
		{operatorKey, rpc, strings.Repeat(" ", 64<<10+1), http.StatusRequestEntityTooLarge, "at most 64 KiB"},
		{operatorKey, rpc, ``, http.StatusBadRequest, "invalid: a call is"},
		{operatorKey, rpc, `{"method":"echo"`, http.StatusBadRequest, "invalid: a call is"},
		{operatorKey, rpc, `{"method":"echo"} {}`, http.StatusBadRequest, "invalid: a call is"},
		{operatorKey, rpc, `{"params":[]}`, http.StatusBadRequest, "invalid: a call is"},
		{operatorKey, rpc, `{"method":"echo","params":{}}`, http.StatusBadRequest, "invalid: a call is"},
		{operatorKey, rpc, `["echo"]`, http.StatusBadRequest, "invalid: a call is"},
	} {
		resp, answer := r.call(t, row.key, row.kind, row.body)
		require.Equal(t, row.status, resp.StatusCode, row.body)
		require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
		var got struct{ Error string }
		require.NoError(t, json.Unmarshal([]byte(answer), &got))
		require.Contains(t, got.Error, row.want)
	}

	r.set(func(c *config.Config) { c.Relay.PubKey = "" })
	resp, answer := r.call(t, operatorKey, rpc, `{"method":"echo"}`)
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	require.Contains(t, answer, "no operator")
}

func TestASignedCallCannotBeSentAgainOrElsewhere(t *testing.T) {
	t.Parallel()
	const body = `{"method":"echo","params":[]}`
	r := managed(t, io.Discard)
	send := func(path, h, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", rpc)
		req.Header.Set("Authorization", h)
		resp, _ := r.do(t, req)
		return resp.StatusCode
	}
	h, err := nip98.Header(operatorKey, http.MethodPost, r.URL, []byte(body), time.Now())
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, send("/?x", h, body))
	require.Equal(t, http.StatusUnauthorized, send("/", h, body+" "))
	require.Equal(t, http.StatusOK, send("/", h, body))
	require.Equal(t, http.StatusUnauthorized, send("/", h, body))
}

func TestOnlyCallsPassTheGate(t *testing.T) {
	t.Parallel()
	r := managed(t, io.Discard, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	})
	status := func(resp *http.Response, err error) int {
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	resp, _ := r.call(t, operatorKey, rpc, `{"method":"echo","params":[]}`)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, http.StatusUnauthorized, status(r.Client().Post(r.URL, rpc, strings.NewReader("{}"))))
	require.Equal(t, http.StatusForbidden, status(r.Client().Post(r.URL+"/metrics", rpc, strings.NewReader("{}"))))
	require.Equal(t, http.StatusForbidden, status(r.Client().Get(r.URL)))
	require.Equal(t, http.StatusForbidden, status(r.Client().Get(r.URL+"/healthz")))
}

func TestPreflightOfACallNamesItsMethodAndHeader(t *testing.T) {
	t.Parallel()
	resp, _ := managed(t, io.Discard).ask(t, http.MethodOptions, "/", "Origin: https://admin.example",
		"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization, content-type")
	require.Equal(t, http.StatusNoContent, resp.StatusCode)
	require.Equal(t, "GET, HEAD, OPTIONS, POST", resp.Header.Get("Access-Control-Allow-Methods"))
	require.Contains(t, resp.Header.Get("Access-Control-Allow-Headers"), "Authorization")
}
