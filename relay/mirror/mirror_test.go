package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/fence"
	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/mirror"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

const (
	self   = "aa00000000000000000000000000000000000000000000000000000000000000"
	secret = "000000000000000000000000000000000000000000000000000000000000000a"
	soon   = 40 * time.Second // for what must come; less than a mutant gets
	tick   = 5 * time.Millisecond
)

// here is this relay: a store, and whoever judges events.
type here struct {
	*testing.T
	*storetest.Fake
	ahead atomic.Int64 // by which the clock is ahead of the real one, nanoseconds
	after func()       // called when an event was taken in, before anybody is told; may be nil
	fails atomic.Int64 // how many events cannot be saved
}

func newHere(t *testing.T) *here {
	h := &here{T: t}
	h.Fake = storetest.NewFake(h.now)
	return h
}

func (h *here) now() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }

// Publish implements mirror.Submitter: whatever is signed is taken.
func (h *here) Publish(ctx context.Context, _ []string, ev *wire.Event, f *store.Fence) (store.Outcome, wire.Reason) {
	if err := ev.Verify(); err != nil {
		return store.Outcome{Err: err}, wire.Because(wire.Invalid, "not signed")
	}
	if h.fails.Add(-1) >= 0 {
		return store.Outcome{Err: errors.New("disk full")}, wire.Because(wire.Failed, "could not save the event")
	}
	out := h.Append(ctx, []store.Write{{Event: ev, Fence: f}})[0]
	if h.after != nil {
		h.after()
	}
	switch {
	case out.Err == nil, store.Refused(out.Err):
		return out, wire.Reason{}
	default:
		return out, wire.Because(wire.Duplicate, out.Err.Error())
	}
}

// Await implements mirror.Progress.
func (h *here) Await(ctx context.Context, at store.Position) error {
	for {
		info, err := h.Log(ctx)
		if err != nil || info.Head >= at {
			return err
		}
		select {
		case <-h.Changed():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (h *here) ids() (ids []string) {
	h.Helper()
	entries, err := h.ReadLog(context.Background(), 0, 1_000_000)
	require.NoError(h, err)
	for i := range entries {
		ids = append(ids, entries[i].Event.ID)
	}
	slices.Sort(ids)
	return ids
}

// process is one process that mirrors.
type process struct {
	*mirror.Mirror
	stop func()
}

func (h *here) start(u *upstream, spec mirror.Spec, hook *pause.Hook) *process {
	spec.URL = u.url
	if spec.Filter == nil {
		spec.Filter = wire.NewFilter(nostr.Filter{Kinds: []int{1}})
	}
	m := mirror.New(mirror.Options{
		Spec: spec, Self: self, Secret: secret, Store: h, Events: h, Progress: h,
		Public: func(ev *wire.Event) bool { return ev.Content != "private" },
		Now:    h.now, Logger: slog.New(slog.DiscardHandler), Patience: u.patience, Pause: hook,
	})
	ctx, cancel := context.WithCancel(h.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	p := &process{Mirror: m, stop: func() { cancel(); <-done }}
	h.Cleanup(p.stop)
	return p
}

func (h *here) eventually(what func() bool, text string) {
	h.Helper()
	require.Eventually(h, what, soon, tick, text)
}

func (h *here) fence(m *mirror.Mirror) fence.State {
	h.Helper()
	s, _, err := h.Fence(context.Background(), fence.Stream{Owner: self, Name: m.Status().Stream})
	require.NoError(h, err)
	return s
}

// takeOver makes a successor the owner, as another process does once the lease is over.
func (h *here) takeOver(m *mirror.Mirror) {
	h.Helper()
	h.ahead.Add(int64(mirror.Lease))
	change := &fence.Change{New: fence.TokenOf("successor"), Active: true, Lease: time.Hour}
	out := h.Append(h.Context(), []store.Write{{Fence: &store.Fence{
		Stream: fence.Stream{Owner: self, Name: m.Status().Stream}, Change: change,
	}}})
	require.NoError(h, out[0].Err)
}

// P6: an owner that was paused and replaced brings nothing in when it wakes.
func TestAPausedOwnerAdmitsNothingAfterItsSuccessor(t *testing.T) {
	t.Parallel()
	h, u := newHere(t), newUpstream(t, 100)
	control := harness.NewController()
	t.Cleanup(control.ReleaseAll)
	p := h.start(u, mirror.Spec{Direction: mirror.Down, Start: mirror.Now}, control.Hook())
	h.eventually(func() bool { return p.Status().Connected && len(u.asked()) > 0 }, "connected")
	u.add(event(t, h.now().Unix(), "before"))
	h.eventually(func() bool { return len(h.ids()) == 1 }, "the first event")

	stop := control.Arm(pause.MirrorEvent)
	u.add(event(t, h.now().Unix(), "after"))
	h.eventually(stop.Parked, "parked")
	before := h.fence(p.Mirror)
	h.takeOver(p.Mirror)
	stop.Release()
	h.eventually(func() bool { return !p.Status().Owned }, "it stops")
	require.Len(t, h.ids(), 1)
	require.Equal(t, before.Cursor, h.fence(p.Mirror).Cursor, "its last words are not heard")
	require.Equal(t, fence.TokenOf("successor"), h.fence(p.Mirror).Token)
	require.True(t, h.fence(p.Mirror).Active, "it gives up nothing that is not its own")
}

// A successor goes on in the past where the owner has come.
func TestASuccessorGoesOnWhereTheOwnerWas(t *testing.T) {
	t.Parallel()
	h, u := newHere(t), newUpstream(t, 10)
	for i := range 50 {
		u.add(event(t, 1_700_000_000+int64(i), fmt.Sprint(i)))
	}
	control := harness.NewController()
	t.Cleanup(control.ReleaseAll)
	first, second := control.Arm(pause.MirrorPage), control.Arm(pause.MirrorPage)
	p := h.start(u, mirror.Spec{Direction: mirror.Down, Start: mirror.All}, control.Hook())
	h.eventually(first.Parked, "one page is taken in")
	first.Release()
	h.eventually(second.Parked, "two pages are taken in, the cursor tells of one")
	require.Len(t, h.ids(), 19, "a page begins with the last event of the one before")
	h.takeOver(p.Mirror)
	second.Release()
	h.eventually(func() bool { return !p.Status().Owned }, "it stops")
	p.stop()
	u.asked()

	h.ahead.Add(int64(2 * time.Hour))
	successor := h.start(u, mirror.Spec{Direction: mirror.Down, Start: mirror.All}, nil)
	h.eventually(func() bool { return len(h.ids()) == 50 }, "everything")
	require.Equal(t, u.ids(), h.ids())
	asked := u.asked()
	asked = slices.DeleteFunc(asked, func(until int64) bool { return until == 0 || until > 1_750_000_000 })
	require.Equal(t, int64(1_700_000_040), asked[0], "the second page, again")
	require.EqualValues(t, 10, successor.Status().Known, "and nothing that the cursor tells of")
}

// A page may end within a second, of which the next one has the rest.
func TestPagesLoseNothingOfASecond(t *testing.T) {
	t.Parallel()
	h, u := newHere(t), newUpstream(t, 10)
	for i := range 100 {
		u.add(event(t, 1_700_000_000+int64(i/7), fmt.Sprint(i)))
	}
	h.start(u, mirror.Spec{Direction: mirror.Down, Start: mirror.All}, nil)
	h.eventually(func() bool { return len(h.ids()) == 100 }, "everything")
	require.Equal(t, u.ids(), h.ids())
}

// An owner that ends in order gives the stream up at once.
func TestAnOwnerThatEndsGivesTheStreamUp(t *testing.T) {
	t.Parallel()
	h, u := newHere(t), newUpstream(t, 10)
	p := h.start(u, mirror.Spec{Direction: mirror.Down, Start: mirror.Now}, nil)
	h.eventually(func() bool { return p.Status().Owned }, "owned")
	p.stop()
	require.False(t, h.fence(p.Mirror).Active)
	next := h.start(u, mirror.Spec{Direction: mirror.Down, Start: mirror.Now}, nil)
	h.eventually(func() bool { return next.Status().Owned }, "owned by the next")
	require.EqualValues(t, 2, h.fence(next.Mirror).Epoch)
}

// Of several processes one is the owner.
func TestOneOfSeveralProcessesMirrors(t *testing.T) {
	t.Parallel()
	h, u := newHere(t), newUpstream(t, 10)
	spec := mirror.Spec{Direction: mirror.Down, Start: mirror.All}
	u.add(event(t, 1_700_000_000, "x"))
	a, b := h.start(u, spec, nil), h.start(u, spec, nil)
	h.eventually(func() bool { return len(h.ids()) == 1 }, "taken in")
	require.NotEqual(t, a.Status().Owned, b.Status().Owned)
	require.EqualValues(t, 1, h.fence(a.Mirror).Epoch)
}

func TestForgedAndUnaskedEventsAreRefused(t *testing.T) {
	t.Parallel()
	h, u := newHere(t), newUpstream(t, 10)
	p := h.start(u, mirror.Spec{Direction: mirror.Down, Start: mirror.Now}, nil)
	h.eventually(func() bool { return len(u.asked()) > 0 }, "subscribed")
	forged := event(t, h.now().Unix(), "forged").Event
	forged.Content = "other"
	u.add(wire.NewEvent(forged), event(t, h.now().Unix(), "good"))
	h.eventually(func() bool { return len(h.ids()) == 1 }, "the good one")
	h.eventually(func() bool { return p.Status().Refused == 1 }, "the forged one")
}

// What the upstream refuses for good does not stop the rest; what fails is tried again.
func TestAnUpstreamThatRefuses(t *testing.T) {
	t.Parallel()
	h, u := newHere(t), newUpstream(t, 10)
	failed := 0
	u.answer = func(ev *wire.Event) string {
		switch ev.Content {
		case "bad":
			return "blocked: not here"
		case "unlucky":
			if failed++; failed == 1 {
				return "error: try again"
			}
		case "there":
			return "duplicate: have it"
		}
		return ""
	}
	var events []*wire.Event
	for i, content := range []string{"bad", "unlucky", "there", "private", "good"} {
		events = append(events, event(t, 1_700_000_000+int64(i), content))
		require.NoError(t, h.Append(t.Context(), []store.Write{{Event: events[i]}})[0].Err)
	}
	p := h.start(u, mirror.Spec{Direction: mirror.Up, Start: mirror.All}, nil)
	h.eventually(func() bool { return p.Status().Published == 3 }, "published")
	want := []string{events[1].ID, events[4].ID}
	slices.Sort(want)
	require.Equal(t, want, u.ids())
	require.EqualValues(t, 1, p.Status().Rejected)
	late := event(t, 1_700_000_000, "late")
	require.NoError(t, h.Append(t.Context(), []store.Write{{Event: late}})[0].Err)
	h.eventually(func() bool { return slices.Contains(u.ids(), late.ID) }, "what comes now")
}

// Both sides are full of events, and neither waits for the other to read.
func TestBothDirectionsAtOnceDoNotBlockEachOther(t *testing.T) {
	t.Parallel()
	h, u := newHere(t), newUpstream(t, 500)
	var there []*wire.Event
	for i := range 600 {
		ev := event(t, 1_700_000_000+int64(i), fmt.Sprint("here ", i))
		require.NoError(t, h.Append(t.Context(), []store.Write{{Event: ev}})[0].Err)
		there = append(there, event(t, h.now().Unix(), fmt.Sprint("there ", i)))
	}
	slow := make(chan struct{})
	u.answer = func(*wire.Event) string { <-slow; return "" }
	h.start(u, mirror.Spec{Direction: mirror.Both, Start: mirror.All}, nil)
	h.eventually(func() bool { return len(u.asked()) > 0 }, "subscribed")
	u.add(there...) // before anything of ours is answered
	close(slow)
	h.eventually(func() bool { return len(h.ids()) == 1200 && len(u.ids()) == 1200 }, "everything")
	require.Equal(t, u.ids(), h.ids())
}

// An event is in the log before who takes it in is told so: it does not go up then.
func TestAnEventIsNotSentBackWhileItIsTakenIn(t *testing.T) {
	t.Parallel()
	h, u := newHere(t), newUpstream(t, 10)
	committed, release := make(chan struct{}), make(chan struct{})
	h.after = func() { committed <- struct{}{}; <-release }
	p := h.start(u, mirror.Spec{Direction: mirror.Both, Start: mirror.Now}, nil)
	h.eventually(func() bool { return len(u.asked()) > 0 }, "subscribed")
	before := h.followed(p)
	held := len(u.ids())
	u.add(event(t, h.now().Unix(), "there"))
	<-committed
	h.append("here")
	h.eventually(func() bool { return p.Status().Sent == before.Sent+2 }, "the log was followed")
	close(release)
	require.Len(t, u.ids(), held+2)
	require.Equal(t, before.Published+1, p.Status().Published)
	select {
	case <-committed:
		require.Fail(t, "what came back was judged again")
	default:
	}
}

// append commits an event of this relay's own.
func (h *here) append(content string) {
	h.Helper()
	require.NoError(h, h.Append(h.Context(), []store.Write{{Event: event(h, h.now().Unix(), content)}})[0].Err)
}

// followed returns once a mirror follows the log, and has come to its end. It begins with
// what comes then, which is a moment after it has connected.
func (h *here) followed(p *process) mirror.Status {
	h.Helper()
	for n := 0; p.Status().Sent == 0; n++ {
		require.Less(h, n, int(soon/tick))
		h.append(fmt.Sprint("early ", n))
		<-time.After(tick)
	}
	h.eventually(func() bool {
		info, err := h.Log(h.Context())
		return err == nil && p.Status().Sent == info.Head
	}, "followed to the end")
	return p.Status()
}

// What cannot be saved is fetched again.
func TestAnEventThatCannotBeSavedIsNotForgotten(t *testing.T) {
	t.Parallel()
	h, u := newHere(t), newUpstream(t, 10)
	p := h.start(u, mirror.Spec{Direction: mirror.Down, Start: mirror.Now}, nil)
	h.eventually(func() bool { return len(u.asked()) > 0 }, "subscribed")
	h.fails.Store(1)
	u.add(event(t, h.now().Unix(), "unlucky"))
	h.eventually(func() bool { return len(h.ids()) == 1 }, "after the next connect")
	require.EqualValues(t, 1, p.Status().Failures)
	require.Equal(t, "store", p.Status().Reason)
}

// An event on which the upstream ends the connection does not keep others from it.
func TestAnEventThatBreaksConnectionsIsLeftOut(t *testing.T) {
	t.Parallel()
	h, u := newHere(t), newUpstream(t, 100)
	u.hates = "poison"
	var want []string
	for i := range 20 {
		content := fmt.Sprint(i)
		if i == 3 {
			content = u.hates
		}
		ev := event(t, 1_700_000_000+int64(i), content)
		require.NoError(t, h.Append(t.Context(), []store.Write{{Event: ev}})[0].Err)
		if content != u.hates {
			want = append(want, ev.ID)
		}
	}
	p := h.start(u, mirror.Spec{Direction: mirror.Up, Start: mirror.All}, nil)
	h.eventually(func() bool { return p.Status().Rejected == 1 }, "it is left out")
	late := event(t, h.now().Unix(), "late")
	require.NoError(t, h.Append(t.Context(), []store.Write{{Event: late}})[0].Err)
	h.eventually(func() bool { return slices.Contains(u.ids(), late.ID) }, "what comes now")
	want = append(want, late.ID)
	slices.Sort(want)
	require.Equal(t, want, slices.Compact(u.ids()))
}
