package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/relay/config"
	"fencepost/relay/web"
)

// relay is a server whose configuration can be changed.
type relay struct {
	*httptest.Server
	config atomic.Pointer[config.Config]
}

func (r *relay) set(change func(*config.Config)) {
	c := *r.config.Load()
	change(&c)
	r.config.Store(&c)
}

// serve starts a relay whose socket answers 418.
func serve(t *testing.T, o web.Options) *relay {
	t.Helper()
	r := &relay{}
	c := config.Default()
	r.config.Store(&c)
	o.Config = func() config.Config { return *r.config.Load() }
	o.Socket = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	r.Server = httptest.NewServer(web.New(o))
	t.Cleanup(r.Close)
	return r
}

// ask sends a request with headers given as "Name: value".
func (r *relay) ask(t *testing.T, method, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.URL+path, nil)
	require.NoError(t, err)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	resp, err := r.Client().Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
	return resp, string(body)
}

const (
	document = "Accept: application/nostr+json"
	browser  = "Accept: text/html,application/xhtml+xml,*/*;q=0.8"
)

func TestSocketIsServedAtOnePathOnly(t *testing.T) {
	t.Parallel()
	r := serve(t, web.Options{})
	upgrade := []string{"Connection: keep-alive, Upgrade", "Upgrade: WebSocket"}
	status := func(path string, headers ...string) int {
		resp, _ := r.ask(t, http.MethodGet, path, headers...)
		return resp.StatusCode
	}
	require.Equal(t, http.StatusTeapot, status("/", upgrade...))
	require.Equal(t, http.StatusTeapot, status("/", append(upgrade, document)...), "an upgrade is an upgrade")
	require.Equal(t, http.StatusTeapot, status("/?x=1", upgrade...))
	require.Equal(t, http.StatusNotFound, status("/other", upgrade...))
	require.Equal(t, http.StatusOK, status("/", "Upgrade: websocket"), "Connection does not name it")
	require.Equal(t, http.StatusOK, status("/", "Connection: upgrade", "Upgrade: h2c"))

	r.set(func(c *config.Config) { c.Relay.URLs = []string{"wss://a.b/nostr/"} })
	require.Equal(t, http.StatusTeapot, status("/nostr", upgrade...))
	require.Equal(t, http.StatusTeapot, status("/nostr/", upgrade...))
	require.Equal(t, http.StatusNotFound, status("/", upgrade...))
	require.Equal(t, http.StatusNotFound, status("/nostr/x", upgrade...))
	require.Equal(t, http.StatusOK, status("/nostr", document))
	require.Equal(t, http.StatusOK, status("/healthz"))
}

func TestHealthNeverLooksAtTheStore(t *testing.T) {
	t.Parallel()
	r := serve(t, web.Options{Ready: func() web.Readiness { panic("asked") }})
	resp, body := r.ask(t, http.MethodGet, "/healthz")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "ok", body)
}

func TestReadinessSaysWhy(t *testing.T) {
	t.Parallel()
	ready := web.Readiness{Ready: true, Position: 7}
	r := serve(t, web.Options{Ready: func() web.Readiness { return ready }})
	resp, body := r.ask(t, http.MethodGet, "/readyz")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
	require.JSONEq(t, `{"ready":true,"reasons":[],"position":7}`, body)

	ready = web.Readiness{Reasons: []string{"draining"}, Degraded: []string{"listener"}}
	resp, body = r.ask(t, http.MethodGet, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.JSONEq(t, `{"ready":false,"reasons":["draining"],"degraded":["listener"],"position":0}`, body)

	_, body = serve(t, web.Options{}).ask(t, http.MethodGet, "/readyz")
	require.JSONEq(t, `{"ready":true,"reasons":[],"position":0}`, body)
}

func TestMetricsAreServedWhenThereAreAny(t *testing.T) {
	t.Parallel()
	m := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") })
	_, body := serve(t, web.Options{Metrics: m}).ask(t, http.MethodGet, "/metrics")
	require.Equal(t, "up 1\n", body)
	resp, _ := serve(t, web.Options{}).ask(t, http.MethodGet, "/metrics")
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
}

func TestUnknownPathsAndMethodsAreRefusedInJSON(t *testing.T) {
	t.Parallel()
	r := serve(t, web.Options{})
	resp, body := r.ask(t, http.MethodGet, "/robots.txt", browser)
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
	require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	require.JSONEq(t, `{"code":"NOT_FOUND","message":"not found","error":"not found"}`, body)

	for path, allow := range map[string]string{"/": "GET, HEAD, OPTIONS", "/healthz": "GET, HEAD", "/readyz": "GET, HEAD"} {
		resp, body = r.ask(t, http.MethodPost, path, document)
		require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
		require.Equal(t, allow, resp.Header.Get("Allow"))
		require.JSONEq(t, `{"code":"METHOD_NOT_ALLOWED","message":"method not allowed","error":"method not allowed"}`, body)
	}
}

func TestHeadAnswersLikeGetWithoutBody(t *testing.T) {
	t.Parallel()
	r := serve(t, web.Options{})
	for path, header := range map[string]string{"/": document, "/?": browser, "/healthz": document, "/readyz": document, "/none": browser} {
		get, body := r.ask(t, http.MethodGet, path, header)
		head, none := r.ask(t, http.MethodHead, path, header)
		require.Empty(t, none)
		require.Equal(t, get.StatusCode, head.StatusCode)
		require.Equal(t, int64(len(body)), head.ContentLength)
		get.Header.Del("Date")
		head.Header.Del("Date")
		require.Equal(t, get.Header, head.Header)
	}
}

func TestCORSIsOpen(t *testing.T) {
	t.Parallel()
	r := serve(t, web.Options{})
	for _, ask := range []struct {
		method, accept string
		status         int
	}{
		{http.MethodOptions, "Accept: */*", http.StatusNoContent},
		{http.MethodGet, document, http.StatusOK},
		{http.MethodGet, browser, http.StatusOK},
		{http.MethodHead, document, http.StatusOK},
	} {
		resp, _ := r.ask(t, ask.method, "/", ask.accept, "Origin: https://client.example",
			"Access-Control-Request-Method: GET", "Access-Control-Request-Headers: accept")
		require.Equal(t, ask.status, resp.StatusCode)
		require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"))
		require.Equal(t, "*, Authorization", resp.Header.Get("Access-Control-Allow-Headers"))
		require.Equal(t, "GET, HEAD, OPTIONS", resp.Header.Get("Access-Control-Allow-Methods"))
	}
}

func TestDocumentFollowsTheConfiguration(t *testing.T) {
	t.Parallel()
	self := strings.Repeat("ab", 32)
	r := serve(t, web.Options{Self: self, Version: "1.2.3"})
	resp, body := r.ask(t, http.MethodGet, "/", document)
	require.Equal(t, "application/nostr+json", resp.Header.Get("Content-Type"))
	require.Equal(t, "Accept", resp.Header.Get("Vary"))
	require.JSONEq(t, `{
		"name": "Fencepost", "description": "A Nostr relay", "self": "`+self+`", "version": "1.2.3",
		"supported_nips": [1, 9, 11, 17, 29, 40, 42, 45, 56, 59, 62, 67, 70, 77, 98], "nip29": {
			"subgroups": true, "max_groups": 10000, "max_groups_per_key": 100, "max_members": 100000, "max_pins": 100, "max_event_age": 3600
		},
		"limitation": {
			"max_message_length": 524288, "max_subscriptions": 300, "max_filters": 32,
			"max_filter_values": 2000, "max_values": 5000, "max_count": 1000000, "max_negentropy_records": 200000, "max_negentropy_sessions": 4, "max_tag_value_length": 65536,
			"max_limit": 5000, "default_limit": 500, "max_subid_length": 64,
			"max_event_tags": 4000, "max_content_length": 262144, "min_pow_difficulty": 0,
			"auth_required": false, "payment_required": false, "restricted_writes": false,
			"created_at_upper_limit": 900
		}}`, body)

	pubkey := strings.Repeat("01", 32)
	r.set(func(c *config.Config) {
		c.Relay = config.Relay{
			Name: `<b>"&`, Description: "d", PubKey: pubkey, Contact: "mailto:a@b.c", Icon: "https://a.b/i",
			Banner: "https://a.b/b", Software: "https://a.b/s", PostingPolicy: "https://a.b/p", TermsOfService: "https://a.b/t",
		}
		c.Subscriptions.MaxTotal, c.Subscriptions.MaxLimit, c.Subscriptions.DefaultLimit = 100, 0, 500
		c.Subscriptions.MaxFilters, c.Events.MaxTags, c.Events.MaxContent = 0, 0, 0
		c.Events.MinPoW, c.Events.CreatedAtPast, c.Events.CreatedAtFuture = 16, 24*time.Hour, 0
		c.Auth.Require, c.Groups.Create = config.RequireAll, config.CreateNone
	})
	_, body = r.ask(t, http.MethodGet, "/", document)
	require.JSONEq(t, `{
		"name": "<b>\"&", "description": "d", "self": "`+self+`", "version": "1.2.3", "pubkey": "`+pubkey+`",
		"contact": "mailto:a@b.c", "icon": "https://a.b/i", "banner": "https://a.b/b", "software": "https://a.b/s",
		"posting_policy": "https://a.b/p", "terms_of_service": "https://a.b/t",
		"supported_nips": [1, 9, 11, 13, 17, 40, 42, 45, 56, 59, 62, 67, 70, 77, 86, 98],
		"limitation": {
			"max_message_length": 524288, "max_subscriptions": 300,
			"max_filter_values": 2000, "max_values": 5000, "max_count": 1000000, "max_negentropy_records": 200000, "max_negentropy_sessions": 4, "max_tag_value_length": 65536,
			"max_limit": 100, "default_limit": 100, "max_subid_length": 64, "min_pow_difficulty": 16,
			"auth_required": true, "payment_required": false, "restricted_writes": true,
			"created_at_lower_limit": 86400
		}}`, body)
}

func TestMembershipShowsInTheDocument(t *testing.T) {
	t.Parallel()
	for required, want := range map[config.Requirement]struct{ auth, restricted, listed bool }{
		config.RequireNone:  {false, false, false},
		config.RequireWrite: {false, true, true},
		config.RequireAll:   {true, true, true},
	} {
		r := serve(t, web.Options{})
		r.set(func(c *config.Config) { c.Membership.Require = required })
		_, body := r.ask(t, http.MethodGet, "/", document)
		var got struct {
			NIPs       []int `json:"supported_nips"`
			Limitation struct {
				Auth       bool `json:"auth_required"`
				Restricted bool `json:"restricted_writes"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(body), &got))
		require.Equal(t, want.auth, got.Limitation.Auth)
		require.Equal(t, want.restricted, got.Limitation.Restricted)
		require.Equal(t, want.listed, slices.Contains(got.NIPs, 43))
	}
}

func TestUnsetPartsNeverCrash(t *testing.T) {
	t.Parallel()
	r := serve(t, web.Options{})
	r.config.Store(&config.Config{})
	_, body := r.ask(t, http.MethodGet, "/", document)
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.NotContains(t, got, "self")
	require.NotContains(t, got, "pubkey")
	require.NotEmpty(t, got["supported_nips"])
	resp, body := r.ask(t, http.MethodGet, "/", browser)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, body, "<h1>Nostr relay</h1>")
}

func TestDocumentNamesSearchWhereTheStoreSearches(t *testing.T) {
	t.Parallel()
	require.Contains(t, web.SupportedNIPs(config.Default(), true), 50)
	require.NotContains(t, web.SupportedNIPs(config.Default(), false), 50)
	_, body := serve(t, web.Options{Search: true}).ask(t, http.MethodGet, "/", document)
	require.Contains(t, body, "45,50,56")
}
