package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/lifecycle/fence"
	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
)

// raw is what a token is on the wire.
func raw(secret string) string {
	token := fence.TokenOf(secret)
	return string(token[:])
}

func revocation(token string) store.Write {
	w := setFence(token, token, time.Hour)
	w.Fence.Change.Active = false
	return w
}

// A replica is stopped between its decision and its commit, and another one commits first
// (P1, P2, P3, P6): the decision is taken again.
func TestDecisionsAboutFencesHoldForTheirVersionOnly(t *testing.T) {
	t.Parallel()
	from := server.Start(t)
	ours := frame("one", 1)
	for name, row := range map[string]struct {
		held    store.Write
		hold    string // what its commit has in it
		elapsed time.Duration
		rival   store.Write
		code    fence.Code // of the held one, "" for none
	}{
		"a frame and a take-over":           {ours, ours.Event.Content, time.Hour, setFence("", "two", time.Hour), fence.FailedPrecondition},
		"a frame and a revocation":          {ours, ours.Event.Content, 0, revocation("one"), fence.FailedPrecondition},
		"a frame and the end of its lease":  {ours, ours.Event.Content, time.Hour, frame("one", 2), ""},
		"a claim and a claim":               {setFence("one", "two", time.Hour), raw("two"), 0, setFence("one", "three", time.Hour), fence.Aborted},
		"a claim by lease and a claim":      {setFence("", "two", time.Hour), raw("two"), time.Hour, setFence("", "three", time.Hour), fence.Aborted},
		"a claim by lease and an admission": {setFence("", "two", time.Hour), raw("two"), time.Hour, frame("one", 3), fence.Aborted},
		"a claim and a revocation":          {setFence("one", "two", time.Hour), raw("two"), 0, revocation("one"), ""},
		"a renewal and a take-over":         {setFence("one", "one", time.Hour), raw("one"), time.Hour, setFence("", "two", time.Hour), fence.Aborted},
		"a revocation and a take-over":      {revocation("one"), raw("one"), time.Hour, setFence("", "two", time.Hour), fence.Aborted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := from.Database(t)
			other := reopen(t, database, postgres.Options{})
			p := server.NewProxy(t, database)
			s := reopen(t, p.URL(), postgres.Options{})
			require.NoError(t, appendOne(t.Context(), other, setFence("", "one", time.Hour)).Err)
			require.NoError(t, other.Elapse(t.Context(), row.elapsed))
			held := p.Hold(row.hold)
			var out store.Outcome
			var g errgroup.Group
			g.Go(func() error { out = appendOne(t.Context(), s, row.held); return nil })
			<-held.Reached()
			require.NoError(t, appendOne(t.Context(), other, row.rival).Err)
			held.Release()
			require.NoError(t, g.Wait())
			if row.code == "" {
				require.NoError(t, out.Err)
				return
			}
			var refusal *fence.Error
			require.ErrorAs(t, out.Err, &refusal)
			require.Equal(t, row.code, refusal.Code)
			rows, err := other.ReadLog(t.Context(), 0, 10)
			require.NoError(t, err)
			for _, r := range rows {
				require.NotEqual(t, ours.Event.ID, r.Event.ID)
			}
		})
	}
}

// P7, P16: a commit that gets lost on its way is made anew, and its frame has one number.
func TestAFrameWhoseCommitGotLostIsAdmittedOnce(t *testing.T) {
	t.Parallel()
	database := server.Start(t).Database(t)
	p := server.NewProxy(t, database)
	s := reopen(t, p.URL(), postgres.Options{CommitTimeout: time.Minute})
	require.NoError(t, appendOne(t.Context(), s, setFence("", "one", time.Hour)).Err)
	w := frame("one", 1)
	lost, anew := p.Hold(w.Event.Content), p.Hold(w.Event.Content)
	var out store.Outcome
	var g errgroup.Group
	g.Go(func() error { out = appendOne(t.Context(), s, w); return nil })
	<-lost.Reached()
	p.Set(server.Reset)
	p.Set(server.None)
	<-anew.Reached()
	anew.Release()
	require.NoError(t, g.Wait())
	require.Equal(t, store.Outcome{Position: 1, Last: 1, Frame: store.Frame{Epoch: 1, Number: 1}}, out)
	state, _, err := s.Fence(t.Context(), stream)
	require.NoError(t, err)
	require.Equal(t, uint64(2), state.Next)
}
