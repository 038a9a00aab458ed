package conformance_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// information is the NIP-11 document.
type information struct {
	Name          string         `json:"name"`
	SupportedNIPs []int          `json:"supported_nips"`
	Limitation    map[string]any `json:"limitation"`
}

func (r *relay) ask(t *testing.T, method string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http"+strings.TrimPrefix(r.url, "ws"), nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp, string(body)
}

func document(t *testing.T, r *relay) (d information) {
	t.Helper()
	resp, body := r.ask(t, http.MethodGet, "Accept", "application/nostr+json")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.NoError(t, json.Unmarshal([]byte(body), &d))
	return d
}

// FIELD_REPORTS 10.
func TestDocumentIsAtTheSocketsURLForWhoAcceptsIt(t *testing.T) {
	t.Parallel()
	r := target(t)
	const doc = "application/nostr+json"
	for accept, wants := range map[string]bool{
		doc:                               true,
		"Application/Nostr+JSON":          true,
		doc + ";charset=utf-8":            true,
		doc + ", */*":                     true,
		"text/html;q=0.9, " + doc:         true,
		"text/plain,  " + doc + " ;q=0.5": true,
		doc + ";q=0":                      false,
		doc + ";q=0.4, text/html;q=0.5":   false,
		"text/html":                       false,
		"*/*":                             false,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": false,
		"": false,
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			resp, body := r.ask(t, method, "Accept", accept)
			require.Equal(t, http.StatusOK, resp.StatusCode, accept)
			require.Equal(t, wants, strings.HasPrefix(resp.Header.Get("Content-Type"), doc), "%q: %s", accept, resp.Header.Get("Content-Type"))
			require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"), accept)
			if method == http.MethodHead {
				require.Empty(t, body)
				continue
			}
			if wants {
				require.True(t, json.Valid([]byte(body)))
			} else {
				require.Contains(t, strings.ToLower(body), "<html", accept)
			}
		}
	}
	resp, _ := r.ask(t, http.MethodGet, "Accept", "text/html", "Accept", doc)
	require.Equal(t, doc, resp.Header.Get("Content-Type"), "Accept on two lines")
	resp, _ = r.ask(t, http.MethodOptions, "Origin", "https://x.example", "Access-Control-Request-Method", "GET")
	require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"))
	require.NotEmpty(t, resp.Header.Get("Access-Control-Allow-Headers"))
	require.NotEmpty(t, resp.Header.Get("Access-Control-Allow-Methods"))
	require.Equal(t, "EOSE", first(r.dial(t)), "and the socket is there too")
}

// FIELD_REPORTS 10.
func TestSupportedNIPsFollowTheConfiguration(t *testing.T) {
	t.Parallel()
	plain, strict := document(t, target(t)), document(t, target(t, narrow...))
	require.Contains(t, plain.SupportedNIPs, 1)
	require.Contains(t, plain.SupportedNIPs, 11)
	if *urlFlag == "" {
		require.Equal(t, []int{1, 9, 11, 17, 29, 40, 42, 45, 56, 59, 62, 67, 70, 77, 98}, plain.SupportedNIPs)
	}
	require.Contains(t, strict.SupportedNIPs, 13)
	require.Equal(t, false, plain.Limitation["auth_required"])
	require.Equal(t, true, document(t, target(t, requireAll)).Limitation["auth_required"])
}
