package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/registry/session"
	"fencepost/relay/store"
)

const alice, bob = "aa00000000000000000000000000000000000000000000000000000000000000", "bb00000000000000000000000000000000000000000000000000000000000000"

// open are the connections of a process.
type open struct{ all []*lifecycle.Conn }

// Each implements session.Connections.
func (o *open) Each(fn func(c *lifecycle.Conn) bool) {
	for _, c := range o.all {
		if !fn(c) {
			return
		}
	}
}

// Remove takes c out.
func (o *open) Remove(c *lifecycle.Conn) {
	o.all = slices.DeleteFunc(o.all, func(other *lifecycle.Conn) bool { return other == c })
}

// world is one process and the index that it reports to.
type world struct {
	*testing.T
	registry *open
	memory   *session.Memory
	reporter *session.Reporter
	log      bytes.Buffer

	away          atomic.Bool // Report fails; may be changed while a reporter runs
	before, after error       // what Report fails with before and after it is taken
	reports       []store.SessionReport
	connected     uint64
}

// Report implements session.Index.
func (w *world) Report(ctx context.Context, r store.SessionReport) (bool, error) {
	if w.away.Load() {
		return false, errors.New("away")
	}
	if w.before != nil {
		return false, w.before
	}
	fresh, err := w.memory.Report(ctx, r)
	require.NoError(w, err)
	w.reports = append(w.reports, r)
	return fresh, w.after
}

func in(t *testing.T, run func(w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, registry: &open{}, memory: session.NewMemory(time.Now)}
		w.reporter = session.NewReporter(session.Options{
			Index: w, Connections: w.registry, Node: session.NewNode("a"), Every: 5 * time.Second, Now: time.Now,
			Logger: slog.New(slog.NewTextHandler(&w.log, nil)),
		})
		run(w)
	})
}

func (w *world) connect(keys ...string) *lifecycle.Conn {
	w.connected++
	c := lifecycle.NewConn(w.Context(), lifecycle.Options{ID: w.connected})
	w.registry.all = append(w.registry.all, c)
	w.Cleanup(func() { c.Finish() })
	for _, k := range keys {
		c.AddKey(k)
	}
	return c
}

func (w *world) step() {
	w.Helper()
	require.NoError(w, w.reporter.Step(w.Context()))
}

func (w *world) last() store.SessionReport { return w.reports[len(w.reports)-1] }

// of returns which sessions of a key are open and have ended.
func (w *world) of(key string) (open, ended int) {
	w.Helper()
	seen, err := w.memory.OfKeys(w.Context(), time.Now(), []string{key}, 100)
	require.NoError(w, err)
	for _, s := range seen {
		if s.Ended {
			ended++
		} else {
			open++
		}
	}
	return open, ended
}

// after blocks for d of the bubble's time.
func after(d time.Duration) { <-time.After(d) }

func TestOnlyWhatChangedIsReported(t *testing.T) {
	in(t, func(w *world) {
		w.connect()
		a := w.connect(alice, bob)
		after(time.Minute)
		w.step()
		require.Equal(w, 2, w.last().Connections)
		require.Len(w, w.last().Open, 2, "a session for each key, none for nobody")
		require.Equal(w, time.Minute, w.last().Open[0].Idle)
		require.JSONEq(w, `{"v":1,"since":"2000-01-01T00:00:00Z"}`, string(w.last().Open[0].Doc))
		w.step()
		require.Empty(w, w.last().Open)
		a.Touch(time.Now())
		w.step()
		require.Len(w, w.last().Open, 2)
		require.Zero(w, w.last().Open[0].Idle)
		w.registry.Remove(a)
		w.step()
		require.Len(w, w.last().Ended, 2)
		w.step()
		require.Empty(w, w.last().Ended)
		open, ended := w.of(alice)
		require.Equal(w, []int{0, 1}, []int{open, ended})
	})
}

// The index was away: what happened meanwhile arrives with the first report that does.
func TestNothingIsLostWhileTheIndexIsAway(t *testing.T) {
	for name, cut := range map[string]func(w *world, err error){
		"reports are lost":     func(w *world, err error) { w.before = err },
		"answers are lost":     func(w *world, err error) { w.after = err },
		"nothing arrives back": func(w *world, err error) { w.before, w.after = err, err },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				a := w.connect(alice)
				w.step()
				cut(w, errors.New("away"))
				w.registry.Remove(a)
				w.connect(bob)
				require.Error(w, w.reporter.Step(w.Context()))
				require.Error(w, w.reporter.Step(w.Context()))
				w.before, w.after = nil, nil
				w.step()
				open, ended := w.of(alice)
				require.Equal(w, []int{0, 1}, []int{open, ended})
				open, ended = w.of(bob)
				require.Equal(w, []int{1, 0}, []int{open, ended})
			})
		})
	}
}

// R14: an index that lost everything is filled again by the next report.
func TestAnIndexThatLostEverythingIsToldEverything(t *testing.T) {
	in(t, func(w *world) {
		w.connect(alice)
		w.step()
		w.memory = session.NewMemory(time.Now)
		w.step()
		open, _ := w.of(alice)
		require.Equal(w, 1, open)
		w.step()
		require.Empty(w, w.last().Open)
	})
}

// R8: two lives of one name are two nodes.
func TestEachStartIsAnotherIncarnation(t *testing.T) {
	t.Parallel()
	a, b := session.NewNode("a"), session.NewNode("a")
	require.Equal(t, a.Name, b.Name)
	require.NotEqual(t, a.Incarnation, b.Incarnation)
}

func TestAProcessSaysThatItEnds(t *testing.T) {
	in(t, func(w *world) {
		w.connect(alice)
		ctx, cancel := context.WithCancel(w.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.reporter.Run(ctx) }()
		synctest.Wait()
		open, _ := w.of(alice)
		require.Equal(w, 1, open)
		cancel()
		<-done
		require.True(w, w.last().Stopped)
		open, ended := w.of(alice)
		require.Equal(w, []int{0, 1}, []int{open, ended})
	})
}

func TestAnIndexThatIsAwayIsLoggedOnce(t *testing.T) {
	in(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		done := make(chan struct{})
		w.away.Store(true)
		go func() { defer close(done); w.reporter.Run(ctx) }()
		after(time.Minute)
		synctest.Wait()
		w.away.Store(false)
		after(time.Minute)
		cancel()
		<-done
		require.Equal(w, 1, bytes.Count(w.log.Bytes(), []byte("cannot be reported")))
		require.Equal(w, 1, bytes.Count(w.log.Bytes(), []byte("reported again")))
	})
}

func TestWhatIsOldIsForgotten(t *testing.T) {
	in(t, func(w *world) {
		a := w.connect(alice)
		w.step()
		w.registry.Remove(a)
		w.step()
		after(session.Keep)
		w.step()
		open, ended := w.of(alice)
		require.Equal(w, []int{0, 1}, []int{open, ended})
		after(time.Second)
		w.step()
		open, ended = w.of(alice)
		require.Equal(w, []int{0, 0}, []int{open, ended})
	})
}

// Who makes keys without end cannot make the index grow without end.
func TestEndedSessionsAreBounded(t *testing.T) {
	t.Parallel()
	m := session.NewMemory(time.Now)
	node := session.NewNode("a")
	report := func(r store.SessionReport) {
		r.Node = node
		_, err := m.Report(t.Context(), r)
		require.NoError(t, err)
	}
	const more = 10
	for round := range session.KeepEnded/1000 + more {
		var r store.SessionReport
		for i := range 1000 {
			key := fmt.Sprintf("%064x", round*1000+i)
			r.Open = append(r.Open, store.SessionOpen{Conn: uint64(round*1000 + i), Key: key})
			r.Ended = append(r.Ended, store.SessionRef{Conn: uint64(round*1000 + i), Key: key})
		}
		report(r)
	}
	all, _, err := m.All(t.Context(), time.Now(), store.SessionRef{}, 2*session.KeepEnded)
	require.NoError(t, err)
	require.Len(t, all, session.KeepEnded)
	require.EqualValues(t, more*1000, all[0].Conn, "the oldest are forgotten")
}

// The same key, again and again, is one session that ended.
func TestTheLastEndOfAKeyIsKept(t *testing.T) {
	in(t, func(w *world) {
		for range 5 {
			c := w.connect(alice)
			w.step()
			w.registry.Remove(c)
			w.step()
		}
		open, ended := w.of(alice)
		require.Equal(w, []int{0, 1}, []int{open, ended})
	})
}
