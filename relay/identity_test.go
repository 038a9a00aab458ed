package relay_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay"
)

// self returns the relay's key as NIP-11 shows it.
func (r *running) self(t *testing.T) string {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.url, nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "application/nostr+json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	var document struct{ Self string }
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&document))
	return document.Self
}

func TestRelayKeepsTheKeyThatItMadeAtItsFirstStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, dir)
	key := r.self(t)
	require.True(t, nostr.IsValidPublicKey(key), key)
	require.NoError(t, r.stop())
	info, err := os.Stat(filepath.Join(dir, "relay.key"))
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())

	require.Equal(t, key, start(t, dir).self(t))
	require.NotEqual(t, key, start(t, t.TempDir()).self(t))
}

func TestDamagedKeyIsRefused(t *testing.T) {
	t.Parallel()
	for _, damaged := range []string{"", "abc", string(make([]byte, 64))} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "relay.key"), []byte(damaged), 0o600))
		_, err := relay.New(t.Context(), options(dir))
		require.ErrorContains(t, err, "relay key")
	}
}
