package relay_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/relay"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/web"
)

func TestWhoLostTouchWithTheLogIsNotReady(t *testing.T) {
	t.Parallel()
	const (
		late  = "the log was not read to its end for longer than access.max_lag"
		stuck = "the log cannot be followed: it holds a change of permissions that this program cannot apply"
	)
	for name, row := range map[string]struct {
		got, want web.Readiness
	}{
		"all is well":    {relay.Ready(false, time.Second, 5*time.Second, false, true, false), web.Readiness{Ready: true}},
		"just in time":   {relay.Ready(false, 5*time.Second, 5*time.Second, false, true, false), web.Readiness{Ready: true}},
		"too late":       {relay.Ready(false, 5*time.Second+1, 5*time.Second, false, true, false), web.Readiness{Reasons: []string{late}}},
		"polling":        {relay.Ready(false, time.Second, 5*time.Second, false, false, false), web.Readiness{Ready: true, Degraded: []string{"listener"}}},
		"not writing":    {relay.Ready(false, time.Second, 5*time.Second, false, true, true), web.Readiness{Ready: true, Degraded: []string{"writes"}}},
		"stopped":        {relay.Ready(false, time.Second, 5*time.Second, true, true, false), web.Readiness{Reasons: []string{stuck}}},
		"draining":       {relay.Ready(true, 0, 5*time.Second, false, true, false), web.Readiness{Reasons: []string{"draining"}}},
		"all at a time ": {relay.Ready(true, 9*time.Second, 5*time.Second, false, false, true), web.Readiness{Reasons: []string{"draining", late}, Degraded: []string{"listener", "writes"}}},
	} {
		require.Equal(t, row.want, row.got, name)
	}
}

// gate is a follower that a test holds.
type gate struct{ waited chan store.Position }

func (g gate) Await(ctx context.Context, at store.Position) error {
	g.waited <- at
	return ctx.Err()
}

// A scribe that compares with older permissions would take back what another replica
// wrote from newer ones.
func TestAScribeKnowsWhatTheWriterOfAListKnew(t *testing.T) {
	t.Parallel()
	s, g := storetest.NewFake(time.Now), gate{make(chan store.Position, 1)}
	commitRow(t, s, control.Row{Type: control.KeyBanned, Key: storetest.Key(2)})
	commit(t, s, storetest.Draft{Key: 1, At: 1, Kind: 1})
	require.NoError(t, relay.Settled(t.Context(), s, g))
	require.EqualValues(t, 1, <-g.waited, "the newest control row")
	require.NoError(t, s.Close())
	require.ErrorIs(t, relay.Settled(t.Context(), s, g), store.ErrClosed)
}

// safe is a store that keeps a key.
type safe struct {
	store.Store
	secret []byte
	err    error
}

func (s *safe) RelayKey(_ context.Context, draft []byte) ([]byte, error) {
	if s.secret == nil {
		s.secret = draft
	}
	return s.secret, s.err
}

func TestReplicasTakeTheKeyFromTheirStore(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), &safe{}
	first, err := relay.OpenIdentity(t.Context(), dir, s)
	require.NoError(t, err)
	require.Len(t, first, 64)
	second, err := relay.OpenIdentity(t.Context(), t.TempDir(), s)
	require.NoError(t, err)
	require.Equal(t, first, second)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)

	s.err = errors.New("gone")
	_, err = relay.OpenIdentity(t.Context(), dir, s)
	require.ErrorIs(t, err, s.err)
	s.err, s.secret = nil, make([]byte, 32)
	_, err = relay.OpenIdentity(t.Context(), dir, s)
	require.NoError(t, err)
}
