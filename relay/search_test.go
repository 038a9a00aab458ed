package relay_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/config"
)

// document returns the NIP-11 document.
func (r *running) document(t *testing.T) string {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.url, nil)
	require.NoError(t, err)
	request.Header.Set("Accept", "application/nostr+json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return string(text)
}

// requireSearch publishes by a and searches by b, what is stored and what is live.
func requireSearch(t *testing.T, a, b *running) {
	t.Helper()
	writer, reader := a.dial(t), b.dial(t)
	for _, content := range []string{"walls", "good fences make good neighbours", "fences"} {
		require.NoError(t, writer.Publish(t.Context(), note(t, content)))
	}
	send(t, reader, `["REQ","x",{"search":"Good FENCES language:en"}]`)
	require.Equal(t, "good fences make good neighbours", next(t, reader).Event.Content)
	require.Equal(t, "EOSE", next(t, reader).Verb)
	for _, content := range []string{"good walls", "fences are good"} {
		require.NoError(t, writer.Publish(t.Context(), note(t, content)))
	}
	require.Equal(t, "fences are good", next(t, reader).Event.Content)
	send(t, reader, `["COUNT","y",{"search":"fences"}]`)
	require.Equal(t, 3, next(t, reader).Count)
	require.Regexp(t, `"supported_nips":\[[^]]*\b50\b`, b.document(t))
}

func TestSearchIsServedWhereItIsTurnedOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	on := func(c *config.Config) { c.Store.Search = true }
	r := start(t, dir)
	c := r.dial(t)
	require.NoError(t, c.Publish(t.Context(), note(t, "before")))
	send(t, c, `["REQ","x",{"search":"before"}]`)
	require.Equal(t, "unsupported: this relay has no search", next(t, c).Text)
	require.NotRegexp(t, `"supported_nips":\[[^]]*\b50\b`, r.document(t))
	require.NoError(t, r.stop())

	r = start(t, dir, on)
	c = r.dial(t)
	send(t, c, `["REQ","x",{"search":"before"}]`)
	require.Equal(t, "before", next(t, c).Event.Content)
	requireSearch(t, r, r)
	require.NoError(t, r.stop())
}

func TestSearchIsServedByEveryReplica(t *testing.T) {
	t.Parallel()
	two := replicas(t, server.Start(t).Database(t), 2)
	requireSearch(t, two[0], two[1])
}
