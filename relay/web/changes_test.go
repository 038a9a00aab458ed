package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/web"
	"fencepost/relay/wire"
)

func TestTheDocumentSaysFromWhereAFeedCanGoOn(t *testing.T) {
	t.Parallel()
	log, failed := wire.Log{Epoch: "E", Floor: 3, Head: 9}, error(nil)
	r := serve(t, web.Options{Log: func(context.Context) (wire.Log, error) { return log, failed }})
	changes := func() string {
		_, body := r.ask(t, http.MethodGet, "/", document)
		var got struct {
			Changes json.RawMessage `json:"changes"`
		}
		require.NoError(t, json.Unmarshal([]byte(body), &got))
		return string(got.Changes)
	}
	require.JSONEq(t, `{"epoch":"E","floor":3,"head":9}`, changes())
	log.Head = 10
	require.JSONEq(t, `{"epoch":"E","floor":3,"head":10}`, changes())
	failed = errors.New("disk is broken")
	require.Empty(t, changes(), "the rest of the document is served")
}
