package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
	"fencepost/relay/store/storetest"
)

func TestSessionsKeepTheContract(t *testing.T) {
	t.Parallel()
	from := server.Start(t)
	storetest.RunSessions(t, func(t *testing.T) store.Sessions { return open(t, from, postgres.Options{MaxConns: 3}) })
}

// Two processes over one database see each other's sessions.
func TestSessionsAreSharedByReplicas(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	a, b := reopen(t, url, postgres.Options{MaxConns: 3}), reopen(t, url, postgres.Options{MaxConns: 3})
	_, err := a.Report(t.Context(), store.SessionReport{Node: store.Node{Name: "a", Incarnation: "01"}, Connections: 5})
	require.NoError(t, err)
	_, nodes, err := b.All(t.Context(), time.Now(), store.SessionRef{}, 10)
	require.NoError(t, err)
	require.Len(t, nodes, 1)
	require.Equal(t, 5, nodes[0].Connections)
}
