package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/config"
	"fencepost/relay/web"
)

func TestPageShowsWhatAPersonNeeds(t *testing.T) {
	t.Parallel()
	r := serve(t, web.Options{Version: "1.2.3"})
	for _, accept := range []string{browser, "Accept: */*", "Accept: application/json", "X-None: x"} {
		resp, body := r.ask(t, http.MethodGet, "/", accept)
		require.Equal(t, "text/html; charset=utf-8", resp.Header.Get("Content-Type"))
		require.Equal(t, "Accept", resp.Header.Get("Vary"))
		for _, part := range []string{
			"<h1>Fencepost</h1>", "A Nostr relay", ">" + strings.Replace(r.URL, "http", "ws", 1) + "<",
			"512KiB", "262,144 characters", ">01</a>", ">70</a>", "Fencepost 1.2.3",
		} {
			require.Contains(t, body, part)
		}
	}
	_, body := r.ask(t, http.MethodGet, "/", browser, "X-Forwarded-Proto: https")
	require.Contains(t, body, ">wss://")

	r.set(func(c *config.Config) {
		c.Relay.URLs = []string{"wss://relay.example", "ws://other.example"}
		c.Relay.Contact, c.Relay.PubKey = "https://me.example", strings.Repeat("ab", 32)
		c.Relay.Description = "one\r\n\r\ntwo"
		c.Auth.Require = config.RequireWrite
	})
	_, body = r.ask(t, http.MethodGet, "/", browser)
	for _, part := range []string{
		">wss://relay.example<", `href="https://me.example"`, strings.Repeat("ab", 32),
		`<p class="about">one</p>`, `<p class="about">two</p>`, "required to write",
	} {
		require.Contains(t, body, part)
	}
}

func TestPageEscapesTheOperatorsText(t *testing.T) {
	t.Parallel()
	r := serve(t, web.Options{})
	r.set(func(c *config.Config) {
		c.Relay.Name = "<script>alert(1)</script>"
		c.Relay.Description = `"><img src=x>`
		c.Relay.Contact = "javascript:alert(1)"
	})
	_, body := r.ask(t, http.MethodGet, "/", browser)
	require.NotContains(t, body, "<script")
	require.NotContains(t, body, "<img")
	require.NotContains(t, body, `href="javascript`)
	require.Contains(t, body, "javascript:alert(1)", "shown as text")
}

func TestPageLoadsNothingAndItsPolicyAdmitsItsOwnStyle(t *testing.T) {
	t.Parallel()
	r := serve(t, web.Options{})
	r.set(func(c *config.Config) {
		c.Relay.Icon, c.Relay.Banner = "https://a.b/i.png", "https://a.b/b.png"
		c.Relay.PostingPolicy, c.Relay.TermsOfService = "https://a.b/p", "https://a.b/t"
	})
	resp, body := r.ask(t, http.MethodGet, "/", browser)

	style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindStringSubmatch(body)
	require.Len(t, style, 2)
	sum := sha256.Sum256([]byte(style[1]))
	policy := resp.Header.Get("Content-Security-Policy")
	require.Contains(t, policy, "style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	require.Contains(t, policy, "default-src 'none'")

	require.NotRegexp(t, `(?i)<(script|img|iframe|object|embed|form|base)\b`, body)
	require.NotRegexp(t, `(?i)\s(style|on\w+|src|srcset)=`, body)
	require.NotRegexp(t, `(?i)(url\(|@import)`, style[1])
	for _, link := range regexp.MustCompile(`<link[^>]*>`).FindAllString(body, -1) {
		require.Contains(t, link, `href="data:`)
	}
}
