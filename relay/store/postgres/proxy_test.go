package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

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

// A holder of the lock whose next message does not arrive is ended, before those who wait
// give up.
func TestAHolderThatSaysNothingMoreHoldsUpNobodyForLong(t *testing.T) {
	t.Parallel()
	database := server.Start(t).Database(t)
	p := server.NewProxy(t, database)
	a, b := reopen(t, p.URL(), postgres.Options{}), reopen(t, database, postgres.Options{})
	var g errgroup.Group
	for _, text := range []string{"without the lock", "with the lock"} { // the first makes a take it from then on
		held := p.Hold(text)
		e := note(1, text)
		outcome := make(chan store.Outcome, 1)
		g.Go(func() error {
			outcome <- a.Append(t.Context(), []store.Write{{Event: e}})[0]
			return nil
		})
		<-held.Reached()
		took := awake(t)
		require.NoError(t, write(t, b, store.Write{Event: note(2, text)}).Err)
		require.Less(t, took(), 3*time.Second, text)
		held.Release()
		out := <-outcome
		require.NoError(t, out.Err)
		require.Equal(t, e.ID, log(t, b)[out.Position])
	}
	require.NoError(t, g.Wait())
	require.Len(t, log(t, b), 4)
}

// A listener that hears nothing any more, and is not told, is noticed and comes back.
func TestADeafListenerIsNoticed(t *testing.T) {
	t.Parallel()
	database := server.Start(t).Database(t)
	p := server.NewProxy(t, database)
	s, other := reopen(t, p.URL(), postgres.Options{}), reopen(t, database, postgres.Options{})
	p.Deafen(true)
	require.Eventually(t, func() bool { return !s.Listening() }, patience, 10*time.Millisecond)
	write(t, other, store.Write{Event: note(1, "")})
	p.Deafen(false)
	woken(t, s)
	require.Eventually(t, s.Listening, patience, 10*time.Millisecond)
}
