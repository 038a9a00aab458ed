package web_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/web"
	"fencepost/relay/web/nip98"
)

// nobody is a roster of nobody.
type nobody struct{}

func (nobody) Presence(context.Context, string, []string) ([]web.Presence, error) { return nil, nil }

func (nobody) Sessions(context.Context, store.SessionRef) ([]web.Session, []web.Node, error) {
	return nil, nil, nil
}

// asks makes a signed request.
func (r *relay) asks(t *testing.T, key, path string) (status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL+path, nil)
	require.NoError(t, err)
	h, err := nip98.Header(key, http.MethodGet, r.URL+path, nil, time.Now())
	require.NoError(t, err)
	req.Header.Set("Authorization", h)
	resp, err := r.Client().Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

func TestAStrangerWhoUsesUpTheLedgerDoesNotLockTheOperatorOut(t *testing.T) {
	t.Parallel()
	r := managed(t, io.Discard)
	status := http.StatusOK
	for n := 0; n <= 100 && status == http.StatusOK; n++ {
		status = r.asks(t, strangerKey, fmt.Sprintf("/api/presence?pubkeys=%064x&n=%d", 1, n))
	}
	require.Equal(t, http.StatusServiceUnavailable, status, "the ledger holds 100")
	require.Equal(t, http.StatusForbidden, r.asks(t, strangerKey, "/api/sessions"))
	require.Equal(t, http.StatusOK, r.asks(t, operatorKey, "/api/sessions"))
	resp, _ := r.call(t, operatorKey, rpc, `{"method":"echo","params":[]}`)
	require.Equal(t, http.StatusOK, resp.StatusCode)
}
