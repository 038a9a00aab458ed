package relay_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/regress/postgres"
	"fencepost/relay/config"
	"fencepost/relay/web/nip98"
)

// asked makes each request another one: a token is good for one.
var asked atomic.Int64

// asks makes a signed request; without a key it is not signed.
func (r *running) asks(t *testing.T, secret, path string, into any) (status int) {
	t.Helper()
	address := fmt.Sprintf("http://%s%s&n=%d", r.url, path, asked.Add(1))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	if secret != "" {
		token, err := nip98.Header(secret, http.MethodGet, address, nil, time.Now().Add(time.Second))
		require.NoError(t, err)
		req.Header.Set("Authorization", token)
	}
	status, body := do(t, req)
	require.NoError(t, json.Unmarshal([]byte(body), into), body)
	return status
}

type presences struct {
	Presence []struct {
		PubKey string
		State  string
		AsOf   string   `json:"as_of"`
		Age    *float64 `json:"age_seconds"`
	}
}

// sees returns what the holder of secret is told about a key.
func (r *running) sees(t *testing.T, secret, key string) string {
	t.Helper()
	var got presences
	require.Equal(t, http.StatusOK, r.asks(t, secret, "/api/presence?pubkeys="+key, &got))
	require.Len(t, got.Presence, 1)
	p := got.Presence[0]
	require.Equal(t, key, p.PubKey)
	if p.State == "withheld" || p.State == "unknown" {
		require.Nil(t, p.Age)
	} else {
		require.NotNil(t, p.Age, "never without its age (R7)")
		require.NotEmpty(t, p.AsOf)
	}
	return p.State
}

func TestPresenceIsToldToThoseWhoMayKnow(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), operated(t))
	alice, bob := public(t, aliceKey), public(t, bobKey)
	person := r.login(t, aliceKey)
	require.Eventually(t, func() bool { return r.sees(t, aliceKey, alice) == "online" }, soon, 100*time.Millisecond)
	require.Equal(t, "online", r.sees(t, operatorKey, alice))
	require.Equal(t, "withheld", r.sees(t, bobKey, alice))
	require.Equal(t, "unknown", r.sees(t, bobKey, bob))

	require.True(t, person.say(9007, "", nostr.Tag{"h", "g"}).OK)
	require.Equal(t, "withheld", r.sees(t, bobKey, alice))
	require.True(t, person.say(9000, "", nostr.Tag{"h", "g"}, nostr.Tag{"p", bob}).OK)
	require.Equal(t, "online", r.sees(t, bobKey, alice), "they share a group")

	require.NoError(t, person.Close())
	require.Eventually(t, func() bool { return r.sees(t, aliceKey, alice) == "offline" }, soon, 100*time.Millisecond)
}

func TestSessionsAreForTheOperator(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), operated(t))
	r.login(t, aliceKey)
	var got struct {
		Nodes []struct {
			Node, State string
			Connections int
		}
		Sessions []struct {
			PubKey, State string
			Document      struct{ Address string }
		}
		Next string
	}
	require.Eventually(t, func() bool {
		return r.asks(t, operatorKey, "/api/sessions?", &got) == http.StatusOK && len(got.Sessions) == 1
	}, soon, 100*time.Millisecond)
	require.Equal(t, public(t, aliceKey), got.Sessions[0].PubKey)
	require.Equal(t, "online", got.Sessions[0].State)
	require.Equal(t, "127.0.0.1", got.Sessions[0].Document.Address)
	require.Equal(t, "reporting", got.Nodes[0].State)
	require.Equal(t, 1, got.Nodes[0].Connections)
	next := got.Next
	require.Equal(t, http.StatusOK, r.asks(t, operatorKey, "/api/sessions?after="+next, &got))
	require.Empty(t, got.Sessions)
}

func TestPresenceRefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), operated(t))
	for _, tc := range []struct {
		secret, path string
		status       int
		text         string
	}{
		{"", "/api/presence?pubkeys=" + public(t, aliceKey), http.StatusUnauthorized, "auth-required: "},
		{"", "/api/sessions?", http.StatusUnauthorized, "auth-required: "},
		{aliceKey, "/api/sessions?", http.StatusForbidden, "restricted: "},
		{operatorKey, "/api/sessions?after=x", http.StatusBadRequest, "invalid: "},
		{operatorKey, "/api/sessions?after=e30", http.StatusBadRequest, "invalid: "},
		{aliceKey, "/api/presence?x", http.StatusBadRequest, "invalid: "},
		{aliceKey, "/api/presence?pubkeys=npub1", http.StatusBadRequest, "invalid: "},
	} {
		var got struct{ Error string }
		require.Equal(t, tc.status, r.asks(t, tc.secret, tc.path, &got), tc.path)
		require.Contains(t, got.Error, tc.text)
	}
}

// A user of one replica is seen through another.
func TestPresenceIsTheSameOnEveryReplica(t *testing.T) {
	t.Parallel()
	database := postgres.Start(t).Database(t)
	all := replicas(t, database, 2, operated(t))
	all[0].login(t, aliceKey)
	require.Eventually(t, func() bool { return all[1].sees(t, aliceKey, public(t, aliceKey)) == "online" }, soon, 100*time.Millisecond)
}

// A name that two processes have would make one the successor of the other.
func TestNodesAreNamedByTheirAddress(t *testing.T) {
	t.Parallel()
	names := func(c *config.Config) { c.Presence.Node = "eu-1" }
	r := start(t, t.TempDir(), operated(t), names)
	var got struct{ Nodes []struct{ Node string } }
	require.Eventually(t, func() bool {
		return r.asks(t, operatorKey, "/api/sessions?", &got) == http.StatusOK && len(got.Nodes) == 1
	}, soon, 100*time.Millisecond)
	require.Equal(t, "eu-1", got.Nodes[0].Node)
}
