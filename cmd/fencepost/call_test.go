package main_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	main "fencepost/cmd/fencepost"
)

const otherPublic = "c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"

func TestCallAsksARelayForPresence(t *testing.T) {
	t.Parallel()
	url := startRelay(t)
	for range 2 { // equal calls of one second are two
		r := main.RunWith(t.Context(), nil, withSecret, "call", "get", url+"/api/presence?pubkeys="+publicHex+","+otherPublic)
		require.Zero(t, r.Code, r.Stderr)
		require.Contains(t, r.Stdout, publicHex)
		require.Contains(t, r.Stdout, otherPublic)
		require.True(t, json.Valid([]byte(r.Stdout)), r.Stdout)
		require.Equal(t, 1, strings.Count(r.Stdout, "\n"), r.Stdout)
	}
}

func TestCallPublishesUnderAFence(t *testing.T) {
	t.Parallel()
	url := startRelay(t)
	file := filepath.Join(t.TempDir(), "owner.key")
	require.NoError(t, os.WriteFile(file, []byte(secretHex), 0o600))
	call := func(args ...string) main.Result {
		return main.Run(t.Context(), nil, append([]string{"call", "--key", file}, args...)...)
	}
	claimed := call("POST", url+"/api/publishers/feed/fence", `{"expected_token":"","new_token":"0123456789abcdef","active":true,"lease_seconds":30}`)
	require.Zero(t, claimed.Code, claimed.Stderr)
	printed := main.Run(t.Context(), nil, "publish", "--print", url, "from the feed")
	require.Zero(t, printed.Code, printed.Stderr)
	frame := `{"token":"0123456789abcdef","event":` + printed.Stdout + `}`
	require.NotContains(t, call("POST", url+"/api/publishers/feed/frames", frame).Stdout, `"duplicate":true`)
	again := call("POST", url+"/api/publishers/feed/frames", frame)
	require.Zero(t, again.Code, again.Stderr)
	require.Contains(t, again.Stdout, `"duplicate":true`)

	taken := call("POST", url+"/api/publishers/feed/fence", `{"expected_token":"","new_token":"another-token-of-another","active":true,"lease_seconds":30}`)
	require.Equal(t, 1, taken.Code)
	require.Contains(t, taken.Stdout, "ABORTED", "what the relay says is printed")
	require.Equal(t, "fencepost: the relay answers 409 Conflict\n", taken.Stderr)
}

// echo returns the URL of a server that answers with what it was asked.
func echo(t *testing.T) string {
	return signedServer(t, func(w http.ResponseWriter, r *http.Request, body string) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		default:
			_, _ = io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Content-Type")+" "+body) // the client tells what it read
		}
	})
}

func TestCallSendsWhatItSigned(t *testing.T) {
	t.Parallel()
	url := echo(t)
	for _, row := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"GET", url + "/x?a=1&b=%20,%2C#part"}, 0, "GET /x?a=1&b=%20,%2C  \n", ""},
		{[]string{"post", strings.Replace(url, "http", "ws", 1), `{"a": 1}`}, 0, "POST / application/json {\"a\": 1}\n", ""},
		{[]string{"DELETE", url + "/x"}, 0, "DELETE /x  \n", ""},
		{[]string{"GET", url + "/empty"}, 0, "", ""},
		{[]string{"GET", url + "/moved"}, 1, "", "fencepost: the relay answers 307 Temporary Redirect\n"},
		{[]string{"GET", strings.Replace(url, "127.0.0.1", "localhost", 1)}, 1, "\n", "fencepost: the relay answers 401 Unauthorized\n"},
		{[]string{"GET", "relay.example"}, 1, "", "fencepost: \"relay.example\" is not a ws://, wss://, http:// or https:// URL\n"},
		{[]string{"GET", "ws://127.0.0.1:1"}, 1, "", "connection refused\n"},
	} {
		r := main.RunWith(t.Context(), nil, withSecret, append([]string{"call"}, row.args...)...)
		require.Equal(t, row.code, r.Code, "%v: %s", row.args, r.Stderr)
		if row.args[1] != url+"/moved" {
			require.Equal(t, row.stdout, r.Stdout)
		}
		require.True(t, strings.HasSuffix(r.Stderr, row.stderr), r.Stderr)
	}
	require.Contains(t, main.Run(t.Context(), nil, "call", "GET", url).Stderr, "a secret key is needed")
}

// Nobody knows whether a call was done whose connection was lost.
func TestCallIsSentOnce(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		calls.Add(1)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	require.Equal(t, 1, main.RunWith(t.Context(), nil, withSecret, "call", "POST", server.URL, "{}").Code)
	require.EqualValues(t, 1, calls.Load())
}

// An argument can be read by every user of the machine, in ps.
func TestCallReadsItsBodyFromStandardInput(t *testing.T) {
	t.Parallel()
	url := echo(t)
	call := func(stdin io.Reader) main.Result {
		return main.RunWith(t.Context(), stdin, withSecret, "call", "POST", url, "-")
	}
	const frame = "{\"token\": \"0123456789abcdef\",\n \"event\": {}}\n"
	require.Equal(t, main.Result{Stdout: "POST / application/json " + frame}, call(strings.NewReader(frame)))
	require.Equal(t, main.Result{Stdout: "POST /  \n"}, call(strings.NewReader("")))

	require.Equal(t, main.Result{Code: 1, Stderr: "fencepost: the body on standard input is longer than 16777216 bytes\n"}, call(endless{}))
	require.Equal(t, main.Result{Code: 1, Stderr: "fencepost: read the body: broken\n"}, call(iotest.ErrReader(errors.New("broken"))))
}

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
