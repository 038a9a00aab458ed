package dapr_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/fence/dapr"
	"fencepost/lifecycle/fence/kv"
	sidecar "fencepost/regress/dapr"
)

func client(t *testing.T, h http.Handler) *dapr.Client {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return dapr.New(dapr.Options{URL: s.URL, Store: sidecar.Component, Token: "secret", Timeout: 2 * time.Second})
}

func TestVersionsGuardWhatIsWritten(t *testing.T) {
	t.Parallel()
	c := client(t, sidecar.Sidecar(sidecar.NewMemory(sidecar.Atomic)))
	missing, err := c.Missing(t.Context())
	require.NoError(t, err)
	require.Empty(t, missing)
	value, etag, err := c.Get(t.Context(), "a/b c")
	require.NoError(t, err)
	require.Empty(t, value)
	require.Empty(t, etag)
	put := func(value, etag string) error {
		return c.Transact(t.Context(), []kv.Op{{Key: "other", Value: []byte(`1`)}, {Key: "a/b c", Value: []byte(value), Guard: true, ETag: etag}})
	}
	require.NoError(t, put(`{"n":1}`, ""))
	require.Error(t, put(`{"n":2}`, ""), "there must be none")
	value, etag, err = c.Get(t.Context(), "a/b c")
	require.NoError(t, err)
	require.JSONEq(t, `{"n":1}`, string(value))
	require.NoError(t, put(`{"n":3}`, etag))
	require.Error(t, put(`{"n":4}`, etag))
	require.Error(t, c.Transact(t.Context(), []kv.Op{{Key: "a/b c", Guard: true, ETag: etag}}))
	_, etag, err = c.Get(t.Context(), "a/b c")
	require.NoError(t, err)
	require.NoError(t, c.Transact(t.Context(), []kv.Op{{Key: "a/b c", Guard: true, ETag: etag}, {Key: "other"}}))
	_, etag, err = c.Get(t.Context(), "other")
	require.NoError(t, err)
	require.Empty(t, etag)
}

// What goes over the wire, for whoever compares it with Dapr's documentation.
func TestCallsAreThoseOfTheStateAPI(t *testing.T) {
	t.Parallel()
	var calls []string
	c := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls = append(calls, r.Method+" "+r.URL.String()+" "+r.Header.Get("dapr-api-token")+" "+string(body))
		w.WriteHeader(http.StatusNoContent)
	}))
	_, _, err := c.Get(t.Context(), "key")
	require.NoError(t, err)
	require.NoError(t, c.Transact(t.Context(), []kv.Op{
		{Key: "a", Value: []byte(`{"x":1}`)},
		{Key: "b", Value: []byte(`2`), Guard: true, ETag: "7"},
		{Key: "c", Value: []byte(`3`), Guard: true},
		{Key: "d"},
	}))
	require.Equal(t, []string{
		`GET /v1.0/state/statestore/key?consistency=strong secret `,
		`POST /v1.0/state/statestore/transaction secret {"operations":[` +
			`{"operation":"upsert","request":{"key":"a","value":{"x":1}}},` +
			`{"operation":"upsert","request":{"key":"b","value":2,"etag":"7","options":{"concurrency":"first-write","consistency":"strong"}}},` +
			`{"operation":"upsert","request":{"key":"c","value":3,"options":{"concurrency":"first-write","consistency":"strong"}}},` +
			`{"operation":"delete","request":{"key":"d"}}]}`,
	}, calls)
}

func TestASidecarThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"not found":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"internal error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"a redirection":  func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotModified) },
	} {
		c := client(t, answer)
		_, _, err := c.Get(t.Context(), "key")
		require.Error(t, err, name)
		require.Error(t, c.Transact(t.Context(), []kv.Op{{Key: "a"}}), name)
		_, err = c.Missing(t.Context())
		require.Error(t, err, name)
	}
	c := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"components":[{"name":"another"}]}`))
	}))
	_, err := c.Missing(t.Context())
	require.ErrorContains(t, err, "no component")
	_, _, err = c.Get(t.Context(), "key")
	require.ErrorContains(t, err, "ETag")
}
