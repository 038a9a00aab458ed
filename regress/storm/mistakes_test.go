package storm_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/handlers"
	"fencepost/lifecycle"
	"fencepost/relay/access"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// TestStormFindsMistakes is about the judge: a relay that makes one mistake about
// permissions is found out, by the fault that it is; the same parts without one are
// not. TestJudge has the faults that such a storm seldom shows.
func TestStormFindsMistakes(t *testing.T) {
	const short = 700 * time.Millisecond
	for name, tc := range map[string]struct {
		change func(*assembled)
		found  []string // any of it; none when there is nothing to find
		long   bool     // it shows seldom: for the long size
	}{
		"none": {func(*assembled) {}, nil, false},
		"everybody may see everything": {func(a *assembled) {
			a.reading, a.fanout = blind{a.reading}, blind{a.reading}
		}, []string{"leak"}, false},
		"live events are for everybody":   {func(a *assembled) { a.fanout = blind{a.reading} }, []string{"leak"}, false},
		"stored events are for everybody": {func(a *assembled) { a.reading = blind{a.reading} }, []string{"leak"}, false},
		"none, and decisions take time":   {func(a *assembled) { a.reading = &pondering{Reading: a.reading} }, nil, false},
		"decisions take time and hold for ever": {func(a *assembled) {
			a.reading = &pondering{Reading: a.reading, lost: true}
		}, []string{"leak"}, true},
		"permissions are kept for a while": {func(a *assembled) {
			a.reading = &forgetful{Reading: a.reading, known: map[string]time.Time{}}
			a.fanout = a.reading
		}, []string{"leak"}, false},
		"counted is what cannot be seen":    {func(a *assembled) { a.reading = open{a.reading} }, []string{"count"}, true},
		"subscriptions outlive permissions": {func(a *assembled) { a.controls = lenient{a.policy} }, []string{"not ended", "leak"}, false},
		"permissions are in force late": {func(a *assembled) {
			a.progress = func(p handlers.Progress) handlers.Progress { return hasty{p} }
			a.controls = slow{a.controls}
			a.writing = termless{a.writing} // or most requests would be refused
		}, []string{"leak", "not ended", "count"}, true},
		"the banned may authenticate": {func(a *assembled) { a.writing = welcoming{a.writing} }, []string{"admitted"}, false},
		"commits stand on old terms":  {func(a *assembled) { a.writing = termless{a.writing} }, []string{"written"}, true},
		"a revocation costs others frames": {func(a *assembled) {
			a.fanout = &nervous{Reading: a.reading}
		}, []string{"missing"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.long && os.Getenv("FENCEPOST_TEST_FULL") == "" {
				t.Skip("may take a minute: FENCEPOST_TEST_FULL is not set")
			}
			if tc.found == nil {
				found, _ := stormTown(t, assemble(t, townConfig(t), tc.change), small, short, 1)
				require.Empty(t, found.counts, "%q", found.examples)
				return
			}
			for seed := uint64(1); ; seed++ { // a starved machine may find nothing in a short time
				require.LessOrEqual(t, seed, uint64(20))
				h := assemble(t, townConfig(t), tc.change)
				h.grace = 3 * time.Second // the last event may never come
				found, _ := stormTown(t, h, small, time.Duration(seed)*short, seed)
				if slices.ContainsFunc(tc.found, func(what string) bool { return found.counts[what] > 0 }) {
					return
				}
				t.Log(found.counts)
			}
		})
	}
}

// blind lets everybody see everything. What may be asked for is as it should be.
type blind struct{ handlers.Reading }

func (blind) Sight(*wire.Event) lifecycle.Sight { return lifecycle.Sight{} }

func (blind) Visible(context.Context, []string, []*wire.Filter) (func(*wire.Event) bool, func() error) {
	return nil, func() error { return nil }
}

// open narrows neither what the store counts nor what may be counted.
type open struct{ handlers.Reading }

func (open) Visible(context.Context, []string, []*wire.Filter) (func(*wire.Event) bool, func() error) {
	return nil, func() error { return nil }
}

// forgetful keeps a yes for a while, as a cache of permissions does.
type forgetful struct {
	handlers.Reading

	mu    sync.Mutex
	known map[string]time.Time // group and key -> until when
}

func (f *forgetful) Sight(ev *wire.Event) lifecycle.Sight {
	s := f.Reading.Sight(ev)
	h, inGroup := ev.Tag("h")
	if s.May == nil || !inGroup {
		return s
	}
	return lifecycle.Sight{May: func(keys []string) bool {
		if len(keys) == 0 {
			return s.May(nil)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		a := f.known[h+keys[0]]
		if time.Now().After(a) {
			a = time.Now().Add(50 * time.Millisecond)
			if !s.May(keys) {
				return false
			}
			f.known[h+keys[0]] = a
		}
		return true
	}}
}

// pondering takes some time between a decision and its use, in which it may become
// wrong. It stands all the same when its grant is lost, as if nobody looked at that
// before a frame is written.
type pondering struct {
	handlers.Reading

	lost  bool
	asked atomic.Int64
}

func (p *pondering) Sight(ev *wire.Event) lifecycle.Sight {
	s := p.Reading.Sight(ev)
	if s.May == nil {
		return s
	}
	out := lifecycle.Sight{Grant: s.Grant, May: func(keys []string) bool {
		may := s.May(keys)
		if p.asked.Add(1)%8 > 0 {
			return may
		}
		return may && pause(context.Background(), 100*time.Millisecond) == nil
	}}
	if p.lost {
		out.Grant = nil
	}
	return out
}

// nervous takes an answer for a no when permissions have changed since the last.
type nervous struct {
	handlers.Reading

	version uint64
}

func (n *nervous) Sight(ev *wire.Event) lifecycle.Sight {
	if v := n.Version(); v != n.version {
		n.version = v
		return lifecycle.Sight{May: func([]string) bool { return false }}
	}
	return n.Reading.Sight(ev)
}

// lenient changes permissions and ends nothing.
type lenient struct{ policy *access.Policy }

func (l lenient) Apply(_ context.Context, e *store.Entry) error {
	_, err := l.policy.Apply(e)
	return err
}

// hasty says that whatever is asked for has been applied.
type hasty struct{ handlers.Progress }

func (hasty) Applied() store.Position { return 1 << 62 }

// slow takes some time for each row.
type slow struct {
	controls interface {
		Apply(ctx context.Context, e *store.Entry) error
	}
}

func (s slow) Apply(ctx context.Context, e *store.Entry) error {
	if err := pause(ctx, 30*time.Millisecond); err != nil {
		return err
	}
	return s.controls.Apply(ctx, e)
}

// welcoming lets everybody authenticate.
type welcoming struct{ handlers.Writing }

func (welcoming) MayAuthenticate(string) error { return nil }

// termless has nothing compared in the commit.
type termless struct{ handlers.Writing }

func (w termless) Plan(ctx context.Context, keys []string, ev *wire.Event) (store.Write, error) {
	out, err := w.Writing.Plan(ctx, keys, ev)
	out.Terms = nil
	return out, errors.Join(err, pause(ctx, 20*time.Millisecond))
}
