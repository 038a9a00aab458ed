package relay_test

import (
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/config"
	"fencepost/relay/web/nip98"
)

const operatorKey = "0000000000000000000000000000000000000000000000000000000000000007"

// manage posts a call that was signed for a URL and returns the answer.
func (r *running) manage(t *testing.T, signedFor string, headers ...string) string {
	t.Helper()
	const body = `{"method":"listbannedpubkeys","params":[]}`
	// A relay that has just started takes none of this second.
	h, err := nip98.Header(operatorKey, http.MethodPost, signedFor, []byte(body), time.Now().Add(time.Second))
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", h)
	req.Header.Set("Content-Type", "application/nostr+json+rpc")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return string(answer)
}

func TestACallIsSignedForWhatTheRelayIsCalled(t *testing.T) {
	t.Parallel()
	public, err := nostr.GetPublicKey(operatorKey)
	require.NoError(t, err)
	forwarded := []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "relay.example"}
	for name, row := range map[string]struct {
		change    func(*config.Config)
		signedFor string // "" is where it goes
		headers   []string
		good      bool
	}{
		"as it was asked for":           {nil, "", nil, true},
		"another host":                  {nil, "https://relay.example", nil, false},
		"what a stranger forwards":      {nil, "https://relay.example", forwarded, false},
		"what a trusted proxy forwards": {trustLoopback, "https://relay.example", forwarded, true},
		"behind a proxy, where it goes": {trustLoopback, "", forwarded, false},
		"a configured URL":              {called("wss://b.example", "wss://relay.example"), "https://relay.example/", nil, true},
		"a configured URL as it stands": {called("wss://b.example", "wss://relay.example"), "wss://relay.example", nil, true},
		"none of the configured URLs":   {called("wss://b.example", "wss://relay.example"), "", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, t.TempDir(), func(c *config.Config) {
				c.Relay.PubKey = public
				if row.change != nil {
					row.change(c)
				}
			})
			if row.signedFor == "" {
				row.signedFor = "http://" + r.url
			}
			answer := r.manage(t, row.signedFor, row.headers...)
			if row.good {
				require.JSONEq(t, `{"result":[]}`, answer)
				return
			}
			require.Contains(t, answer, "u tag")
		})
	}
}

func trustLoopback(c *config.Config) {
	c.Network.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

func called(urls ...string) func(*config.Config) {
	return func(c *config.Config) { c.Relay.URLs = urls }
}
