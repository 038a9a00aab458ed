package main_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"fencepost/relay/web/nip98"
)

const (
	secretHex = "0000000000000000000000000000000000000000000000000000000000000001"
	publicHex = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
)

var withSecret = []string{"NOSTR_SECRET_KEY=" + secretHex}

// signedServer returns the URL of a server that ends with the test. What publicHex signed
// for it is answered by answer, anything else by 401.
func signedServer(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, body string)) string {
	t.Helper()
	var server *httptest.Server
	v := nip98.New(nip98.Options{
		Now: time.Now, Ledger: nip98.NewMemory(100, time.Now),
		Bases: func(*http.Request) []string { return []string{server.URL} },
	})
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		if who, err := v.Verify(r, body, nil); err != nil || who != publicHex {
			http.Error(w, "", http.StatusUnauthorized)
			return
		}
		answer(w, r, string(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}
