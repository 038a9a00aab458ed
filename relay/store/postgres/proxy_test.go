package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
)

// The commit arrived and its answer did not: what the caller hears is what is stored.
func TestALostAnswerIsMadeUpFor(t *testing.T) {
	t.Parallel()
	database := server.Start(t).Database(t)
	direct := reopen(t, database, postgres.Options{})
	p := server.NewProxy(t, database)
	lost := p.Lose("the answer is lost", 1)
	s := reopen(t, p.URL(), postgres.Options{})
	other := note(1, "other")
	require.NoError(t, write(t, direct, store.Write{Event: other}).Err)
	e := note(1, "the answer is lost")
	w := store.Write{Event: e, Controls: []store.Control{{Scopes: []string{"relay"}}}}
	require.Equal(t, store.Outcome{Position: 2, Last: 3}, write(t, s, w))
	require.Zero(t, lost.Left(), "the proxy has cut once, and nothing was sent again")
	require.Equal(t, map[store.Position]string{1: other.ID, 2: e.ID}, log(t, direct))
	info, err := s.Log(t.Context())
	require.NoError(t, err)
	require.Equal(t, store.Position(3), info.Head, "and nothing was committed twice")
	require.Equal(t, store.Outcome{Position: 4, Last: 4}, write(t, s, store.Write{Event: note(1, "next")}))
}
