package relay_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/regress/postgres"
	"fencepost/relay"
	"fencepost/relay/store"
)

// told is a store whose log is what a test says.
type told struct {
	store.Store

	mu      sync.Mutex // guards the fields below
	info    store.LogInfo
	err     error
	copying store.Copying
}

func (s *told) ReadLog(context.Context, store.Position, int) ([]store.Entry, error) {
	return nil, store.ErrFloor
}

func (s *told) Others(context.Context) (int, error) { return 0, nil }

func (s *told) Copying(context.Context) (store.Copying, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.copying, s.err
}

func (s *told) Log(context.Context) (store.LogInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info, s.err
}

func (s *told) say(info store.LogInfo, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info, s.err = info, err
}

func TestARelayEndsWhenItsLogIsAnotherOne(t *testing.T) {
	t.Parallel()
	const applied = 7
	for name, row := range map[string]struct {
		next store.LogInfo
		ends bool
	}{
		"it grows":                {store.LogInfo{Epoch: "a", Head: 9, Control: 8}, false},
		"rows go, the head stays": {store.LogInfo{Epoch: "a", Head: 7, Floor: 6}, false},
		"another epoch":           {store.LogInfo{Epoch: "b", Head: 9}, true},
		"commits are gone":        {store.LogInfo{Epoch: "a", Head: 6}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &told{info: store.LogInfo{Epoch: "a", Head: applied}}
				ctx, cancel := context.WithCancel(t.Context())
				var g errgroup.Group
				g.Go(func() error { return relay.WatchHistory(ctx, s, func() store.Position { return applied }) })
				<-time.After(time.Minute)
				s.say(row.next, errors.New("away"))
				<-time.After(time.Minute) // nobody can tell
				s.say(row.next, nil)
				<-time.After(2 * time.Second)
				cancel()
				err := g.Wait()
				if !row.ends {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, "another history")
			})
		})
	}
}

// A scrape asks nobody: it would wait where the database does not answer.
func TestTheHeadThatIsToldIsTheOneSeenLast(t *testing.T) {
	t.Parallel()
	s := &told{info: store.LogInfo{Epoch: "a", Head: 7}}
	head, look, err := relay.Newest(t.Context(), s)
	require.NoError(t, err)
	require.EqualValues(t, 7, head())
	for _, err := range []error{nil, errors.New("away")} {
		s.say(store.LogInfo{Epoch: "a", Head: 9}, err)
		require.NoError(t, look(t.Context()))
		require.EqualValues(t, 9, head())
	}
}

func TestARelayEndsWhenItsLogWasTrimmedBeyondIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &told{info: store.LogInfo{Epoch: "a", Head: 20, Floor: 8}}
		var g errgroup.Group
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		g.Go(func() error { return relay.WatchHistory(ctx, s, func() store.Position { return 7 }) })
		<-time.After(time.Minute) // the next row is the first of the log
		s.say(store.LogInfo{Epoch: "a", Head: 20, Floor: 9}, nil)
		require.ErrorContains(t, g.Wait(), "trimmed")
	})
}

// A copy sees which relays run; one that was cut off then is not seen, and comes back.
func TestARelayEndsWhenACopyIntoItsStoreBegins(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		copying store.Copying
		ends    bool
	}{
		"none":  {store.Copying{}, false},
		"ended": {store.Copying{Token: "all", Done: true}, false},
		"begun": {store.Copying{Token: "part"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &told{info: store.LogInfo{Epoch: "a", Head: 7}}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				var g errgroup.Group
				g.Go(func() error { return relay.WatchHistory(ctx, s, func() store.Position { return 7 }) })
				<-time.After(time.Minute)
				s.mu.Lock()
				s.copying = row.copying
				s.mu.Unlock()
				if err := g.Wait(); row.ends {
					require.ErrorIs(t, err, store.ErrCopying)
				} else {
					require.NoError(t, err)
				}
			})
		})
	}
}

func TestReplicasEndWhenTheirDatabaseWasRestored(t *testing.T) {
	t.Parallel()
	database := postgres.Start(t).Database(t)
	o := options(t.TempDir())
	over(database)(&o.Config)
	r, err := relay.New(t.Context(), o)
	require.NoError(t, err)
	var g errgroup.Group
	g.Go(func() error { return r.Run(t.Context()) })
	change(t, database, "UPDATE log_head SET id = 'another'")
	require.ErrorContains(t, g.Wait(), "another history")
}
