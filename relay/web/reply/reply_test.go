package reply_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/web/nip98"
	"fencepost/relay/web/reply"
	"fencepost/relay/wire"
)

// written returns what f writes; its length and type are those in the header.
func written(t *testing.T, kind string, f func(w http.ResponseWriter)) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	f(w)
	require.Equal(t, kind, w.Header().Get("Content-Type"))
	require.Equal(t, strconv.Itoa(w.Body.Len()), w.Header().Get("Content-Length"))
	return w
}

func TestAnAnswerIsWhole(t *testing.T) {
	t.Parallel()
	w := written(t, "text/plain", func(w http.ResponseWriter) { reply.Bytes(w, 201, "text/plain", []byte("ok")) })
	require.Equal(t, 201, w.Code)
	require.Equal(t, "ok", w.Body.String())
	w = written(t, "application/x+json", func(w http.ResponseWriter) { reply.As(w, 200, "application/x+json", "<&>") })
	require.Equal(t, "\"<&>\"\n", w.Body.String())
	require.Panics(t, func() { reply.JSON(httptest.NewRecorder(), 200, func() {}) })
}

func TestRefusalsHaveOneForm(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED",
		413: "INVALID_ARGUMENT", 415: "INVALID_ARGUMENT", 500: "INTERNAL", 503: "UNAVAILABLE",
	} {
		w := written(t, "application/json", func(w http.ResponseWriter) { reply.Refuse(w, status, "no <so>") })
		require.Equal(t, status, w.Code)
		require.JSONEq(t, fmt.Sprintf(`{"code":%q,"message":"no <so>","error":"no <so>"}`, code), w.Body.String())
	}
	w := written(t, "application/json", func(w http.ResponseWriter) { reply.Because(w, 400, wire.Invalid, "not so") })
	require.JSONEq(t, `{"code":"INVALID_ARGUMENT","message":"invalid: not so","error":"invalid: not so"}`, w.Body.String())
	w = written(t, "application/json", func(w http.ResponseWriter) { reply.Fenced(w, 409, "ABORTED", "not yours", 7) })
	require.Equal(t, 409, w.Code)
	require.JSONEq(t, `{"code":"ABORTED","message":"not yours","error":"not yours","epoch":7}`, w.Body.String())
	w = written(t, "application/json", func(w http.ResponseWriter) { reply.Method(w, "GET, HEAD") })
	require.Equal(t, 405, w.Code)
	require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
}

func TestWhatIsNotVerifiedIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	refused := func(status int, p wire.Prefix) error {
		return fmt.Errorf("verify: %w", &nip98.Refusal{Status: status, Reason: wire.Because(p, "why")})
	}
	for _, row := range []struct {
		err        error
		status     int
		code, text string
	}{
		{refused(401, wire.AuthRequired), 401, "UNAUTHENTICATED", "auth-required: why"},
		{refused(401, wire.Invalid), 401, "UNAUTHENTICATED", "invalid: why"},
		{refused(403, wire.Restricted), 403, "PERMISSION_DENIED", "restricted: why"},
		{refused(503, wire.Failed), 503, "UNAVAILABLE", "error: why"},
		{errors.New("a secret"), 500, "INTERNAL", "error: could not authenticate"},
	} {
		w := written(t, "application/json", func(w http.ResponseWriter) { reply.Unverified(w, row.err) })
		require.Equal(t, row.status, w.Code)
		require.JSONEq(t, fmt.Sprintf(`{"code":%q,"message":%q,"error":%q}`, row.code, row.text, row.text), w.Body.String())
		require.Equal(t, row.status == 401, w.Header().Get("WWW-Authenticate") == "Nostr")
	}
}
