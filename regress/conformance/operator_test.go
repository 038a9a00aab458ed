package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/relay/web/nip98"
)

// operatorKey manages the relays that this suite starts with managed.
const operatorKey = "0000000000000000000000000000000000000000000000000000000000000007"

// managed is a relay with an operator, behind a proxy of this machine, so that
// clients have any address they like.
func managed(more ...string) []string {
	return append([]string{"RELAY_PUBKEY=" + public(operatorKey), "NETWORK_TRUSTED_PROXIES=127.0.0.1"}, more...)
}

// called is the answer to a call of NIP-86.
type called struct {
	status int
	header http.Header
	result json.RawMessage
	err    string
}

// post sends a call with an Authorization header, "" for none.
func (r *relay) post(t *testing.T, contentType, authorization, body string) called {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.page("/"), strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", contentType)
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  string          `json:"error"`
	}
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&answer); err != nil {
		answer.Error = string(data)
	}
	return called{resp.StatusCode, resp.Header, answer.Result, answer.Error}
}

const rpc = "application/nostr+json+rpc"

// call calls a method as the operator.
func (r *relay) call(t *testing.T, method string, params ...any) called {
	t.Helper()
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"method": method, "params": params})
	require.NoError(t, err)
	return r.post(t, rpc, token(t, operatorKey, r.page("/"), string(body)), string(body))
}

// manage calls a method that must succeed.
func (r *relay) manage(t *testing.T, method string, params ...any) json.RawMessage {
	t.Helper()
	got := r.call(t, method, params...)
	require.Equal(t, http.StatusOK, got.status, "%s: %s", method, got.err)
	require.Empty(t, got.err, method)
	return got.result
}

func token(t *testing.T, key, url, body string) string {
	t.Helper()
	// A relay that has just started takes none of this second.
	h, err := nip98.Header(key, http.MethodPost, url, []byte(body), time.Now().Add(time.Second))
	require.NoError(t, err)
	return h
}

// prefixed returns the standard prefix of a text.
func prefixed(text string) string {
	prefix, _, _ := strings.Cut(strings.TrimSpace(text), ": ")
	return prefix
}

// NIP-86 and NIP-98.
func TestRefusedCallsSayWhy(t *testing.T) {
	t.Parallel()
	r := own(t, managed()...) // which has just started
	const list = `{"method":"listbannedpubkeys","params":[]}`
	page := r.page("/")
	good := func(body string) string { return token(t, operatorKey, page, body) }
	used := good(list)
	require.Equal(t, http.StatusOK, r.post(t, rpc, used, list).status)
	tomorrow, err := nip98.Header(operatorKey, http.MethodPost, page, []byte(list), time.Now().Add(24*time.Hour))
	require.NoError(t, err)
	before, err := nip98.Header(operatorKey, http.MethodPost, page, []byte(list), time.Now().Add(-50*time.Second))
	require.NoError(t, err)
	get, err := nip98.Header(operatorKey, http.MethodGet, page, []byte(list), time.Now())
	require.NoError(t, err)
	for name, row := range map[string]struct {
		contentType, authorization, body string

		status int
		prefix string
	}{
		"no token":          {rpc, "", list, 401, "auth-required"},
		"another scheme":    {rpc, "Bearer x", list, 401, "auth-required"},
		"no base64":         {rpc, "Nostr !", list, 401, "invalid"},
		"no event":          {rpc, "Nostr e30=", list, 401, "invalid"},
		"another URL":       {rpc, token(t, operatorKey, "http://other.example/", list), list, 401, "invalid"},
		"another method":    {rpc, get, list, 401, "invalid"},
		"another body":      {rpc, good(`{"method":"listblockedips"}`), list, 401, "invalid"},
		"another time":      {rpc, tomorrow, list, 401, "invalid"},
		"before the start":  {rpc, before, list, 401, "invalid"},
		"used before":       {rpc, used, list, 401, "invalid"},
		"not the operator":  {rpc, token(t, strings.Repeat("3", 64), page, list), list, 403, "restricted"},
		"another content":   {"application/json", good(list), list, 415, "unsupported"},
		"no call":           {rpc, good(`[]`), `[]`, 400, "invalid"},
		"too long":          {rpc, "", strings.Repeat(" ", 70_000), 413, "invalid"},
		"an unknown method": {rpc, good(`{"method":"x"}`), `{"method":"x"}`, 200, "unsupported"},
	} {
		got := r.post(t, row.contentType, row.authorization, row.body)
		require.Equal(t, row.status, got.status, "%s: %s", name, got.err)
		require.Equal(t, row.prefix, prefixed(got.err), "%s: %s", name, got.err)
		if row.status == http.StatusUnauthorized {
			require.Equal(t, "Nostr", got.header.Get("WWW-Authenticate"), name)
		}
	}
	for method, params := range map[string][]any{
		"banpubkey": {"x"}, "unbanpubkey": {}, "allowpubkey": {7}, "banevent": {"x"}, "allowkind": {-1}, "disallowkind": {"x"},
		"blockip": {"nowhere"}, "createclaim": {-1}, "listbannedpubkeys": {"too much"},
	} {
		got := r.call(t, method, params...)
		require.Equal(t, http.StatusOK, got.status, method)
		require.Equal(t, "invalid", prefixed(got.err), "%s: %s", method, got.err)
	}
	free := target(t)
	require.Equal(t, http.StatusForbidden, free.call(t, "supportedmethods").status, "a relay without an operator is managed by nobody")
}
