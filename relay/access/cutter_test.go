package access_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// scene is a world with connections and a cutter that can be parked.
type scene struct {
	*world
	*access.Cutter
	conns []*lifecycle.Conn
	index *index
	ended []string                      // reasons that were counted
	at    map[pause.Point]func()        // what happens at a point, in the goroutine that comes there
	parks map[pause.Point]chan struct{} // points at which the cutter waits
}

// index is who can be found by the fan-out.
type index struct {
	mu      sync.Mutex
	handles map[*lifecycle.Handle]bool
}

func (x *index) Remove(h *lifecycle.Handle) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	there := x.handles[h]
	delete(x.handles, h)
	return there
}

func (x *index) add(h *lifecycle.Handle) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.handles[h] = true
}

func (s *scene) Each(fn func(*lifecycle.Conn) bool) {
	for _, c := range s.conns {
		if !fn(c) {
			return
		}
	}
}

func (s *scene) SubscriptionEnded(reason string) { s.ended = append(s.ended, reason) }

func newScene(x *world) *scene {
	s := &scene{
		world: x, index: &index{handles: map[*lifecycle.Handle]bool{}},
		at: map[pause.Point]func(){}, parks: map[pause.Point]chan struct{}{},
	}
	s.Cutter = access.NewCutter(access.CutterOptions{
		Policy: x.Policy, Connections: s, Index: s.index, Metrics: s,
		Pause: pause.NewHook(func(p pause.Point) {
			if do := s.at[p]; do != nil {
				do()
			}
			if park := s.parks[p]; park != nil {
				<-park
			}
		}),
	})
	return s
}

// connect opens a connection of a client that has authenticated with these keys.
func (s *scene) connect(t testing.TB, keys ...string) *lifecycle.Conn {
	c := lifecycle.NewConn(t.Context(), lifecycle.Options{
		ID: uint64(len(s.conns)), Sight: s.Sight,
		Peer: lifecycle.Peer{Addr: netip.MustParseAddr(fmt.Sprintf("192.0.2.%d", len(s.conns)%250+1))},
		Limits: lifecycle.Limits{
			QueueFrames: 64, QueueBytes: 1 << 16, HoldFrames: 8, HoldBytes: 1 << 14,
			Subscriptions: 20, Weight: 1 << 20, Queries: 2, Pending: 8, PendingBytes: 1 << 16, RoomTimeout: time.Second,
		},
	})
	for _, key := range keys {
		c.AddKey(key)
	}
	s.conns = append(s.conns, c)
	t.Cleanup(func() {
		c.Finish()
		require.NoError(t, c.Group().Wait(context.Background()))
	})
	return c
}

// subscribe begins a generation, as if it had been judged, and indexes it.
func (s *scene) subscribe(t testing.TB, c *lifecycle.Conn, id string, list ...nostr.Filter) *lifecycle.Handle {
	h, old, err := c.Reserve(t.Context(), id, filters(list...))
	require.NoError(t, err)
	require.NotNil(t, h)
	s.index.Remove(old)
	s.index.add(h)
	return h
}

// apply commits a row and hands it to the cutter.
func (s *scene) apply(t require.TestingT, row control.Row, scopes ...string) {
	data := must(control.Encode(row))
	rows, err := s.commit(store.Write{Controls: []store.Control{{Scopes: scopes, Data: data}}})
	require.NoError(t, err)
	require.NoError(t, s.Cutter.Apply(context.Background(), &rows[0]))
}

// sent drains the queue of c and returns its CLOSEDs.
func sent(c *lifecycle.Conn) (closed []string) {
	frames, _ := c.Take(nil, 1<<30)
	for _, f := range frames {
		closed = append(closed, string(f.AppendTo(nil)))
	}
	return closed
}

func TestRemovalFromAGroupEndsWhatDependedOnIt(t *testing.T) {
	t.Parallel()
	s := newScene(newWorld(access.Rules{}, withGroups(newFakeGroups())))
	s.put(t, control.Row{Type: control.GroupCreated, Group: "pizza", Key: alice, Stamp: 1}, "g:pizza")
	s.put(t, control.Row{Type: control.GroupPut, Group: "pizza", Key: bob, Stamp: 2})
	one, two, other := s.connect(t, alice), s.connect(t, bob), s.connect(t)
	lost := s.subscribe(t, one, "group", inGroup("pizza"))
	kept := []*lifecycle.Handle{
		s.subscribe(t, one, "broad", inGroup("pizza"), kinds(1)), s.subscribe(t, one, "all", nostr.Filter{}),
		s.subscribe(t, two, "group", inGroup("pizza")), s.subscribe(t, other, "group", inGroup("pizza")),
	}
	s.apply(t, control.Row{Type: control.GroupRemoved, Group: "pizza", Key: alice, Stamp: 3}, "g:pizza")
	require.False(t, lost.Current())
	require.Equal(t, []string{`["CLOSED","group","restricted: only members read here"]`}, sent(one))
	for _, h := range kept {
		require.True(t, h.Current(), h.ID())
		require.True(t, s.index.handles[h])
	}
	require.Len(t, s.index.handles, len(kept))
	require.Equal(t, []string{"restricted"}, s.ended)

	s.apply(t, control.Row{Type: control.GroupRemoved, Group: "pizza", Key: alice, Stamp: 4}, "g:pizza")
	require.Empty(t, sent(one), "once")
	require.Empty(t, sent(other), "who has not lost anything is not looked at")
}

func TestRemovalFromAGroupEndsWhatAsksForItsState(t *testing.T) {
	t.Parallel()
	s := newScene(withBook(t, 0))
	s.put(t, control.Row{
		Type: control.GroupCreated, Group: "pizza", Key: bob, Stamp: 1, Tags: nostr.Tags{{"private"}, {"hidden"}},
	}, "g:pizza")
	s.put(t, control.Row{Type: control.GroupPut, Group: "pizza", Key: alice, Stamp: 2})
	c := s.connect(t, alice)
	state := nostr.Filter{Kinds: []int{39000}, Tags: nostr.TagMap{"d": {"pizza"}}}
	lost := s.subscribe(t, c, "state", state)
	kept := s.subscribe(t, c, "other", state, inGroup("pasta"))
	s.apply(t, control.Row{Type: control.GroupRemoved, Group: "pizza", Key: alice, Stamp: 3}, "g:pizza")
	require.False(t, lost.Current())
	require.True(t, kept.Current())
}

// Whoever vanishes is told, as whoever is removed, and of nothing else.
func TestVanishingEndsWhatAskedForHiddenGroupsOfTheKey(t *testing.T) {
	t.Parallel()
	s := newScene(withBook(t, 0))
	for _, id := range keys("one", "two", "other") {
		s.put(t, control.Row{
			Type: control.GroupCreated, Group: id, Key: bob, Stamp: 1, Tags: nostr.Tags{{"private"}, {"hidden"}},
		}, "g:"+id)
		if id != "other" {
			s.put(t, control.Row{Type: control.GroupPut, Group: id, Key: alice, Stamp: 2})
		}
	}
	c, member := s.connect(t, alice), s.connect(t, bob)
	both := nostr.Filter{Tags: nostr.TagMap{"h": {"one", "two"}}}
	state := nostr.Filter{Kinds: []int{39000}, Tags: nostr.TagMap{"d": {"two"}}}
	lost := []*lifecycle.Handle{
		s.subscribe(t, c, "one", inGroup("one")), s.subscribe(t, c, "both", both), s.subscribe(t, c, "all", both, state),
	}
	kept := []*lifecycle.Handle{
		s.subscribe(t, c, "other", inGroup("other")), s.subscribe(t, c, "none", inGroup("none")),
		s.subscribe(t, c, "broad", both, kinds(1)), s.subscribe(t, c, "mixed", nostr.Filter{Tags: nostr.TagMap{"h": {"one", "other"}}}),
		s.subscribe(t, member, "both", both),
	}
	s.apply(t, control.Row{Type: control.KeyVanished, Key: alice, Until: 9}, alice)
	for _, h := range lost {
		require.False(t, h.Current(), h.ID())
	}
	for _, h := range kept {
		require.True(t, h.Current(), h.ID())
	}
}

func TestABanEndsEveryConnectionOfTheKeyAndNoOther(t *testing.T) {
	t.Parallel()
	s := newScene(newWorld(access.Rules{}))
	bad := []*lifecycle.Conn{s.connect(t, carol), s.connect(t, alice, carol, bob)}
	good := []*lifecycle.Conn{s.connect(t), s.connect(t, alice, bob)}
	s.apply(t, control.Row{Type: control.KeyBanned, Key: carol}, carol)
	for _, c := range bad {
		require.Equal(t, 1008, c.Cause().Code)
		require.Contains(t, c.Cause().Text, "blocked: ")
	}
	for _, c := range good {
		require.Zero(t, c.Cause())
	}
}

func TestABlockedNetworkEndsItsConnections(t *testing.T) {
	t.Parallel()
	s := newScene(newWorld(access.Rules{}))
	one, two, three := s.connect(t), s.connect(t), s.connect(t)
	s.apply(t, control.Row{Type: control.AddressBlocked, Address: "192.0.2.2/31"})
	require.Zero(t, one.Cause())
	require.Equal(t, 1008, two.Cause().Code)
	require.Equal(t, 1008, three.Cause().Code)
}

func TestOtherRulesEndWhatTheyClose(t *testing.T) {
	t.Parallel()
	s := newScene(newWorld(access.Rules{}))
	s.member(t, alice)
	inside, outside, nobody := s.connect(t, alice), s.connect(t, bob), s.connect(t)
	for _, c := range s.conns {
		s.subscribe(t, c, "x", kinds(1))
	}
	s.SetRules(access.Rules{Members: access.MembersAll})
	s.Recheck()
	require.Empty(t, sent(inside))
	require.Equal(t, []string{`["CLOSED","x","restricted: this relay serves its members only"]`}, sent(outside))
	require.Equal(t, []string{`["CLOSED","x","auth-required: this relay serves its members only"]`}, sent(nobody))

	s.apply(t, control.Row{Type: control.MemberRemoved, Key: alice}, alice)
	require.Len(t, sent(inside), 1)
}

func TestWithdrawnKindsEndWhatAsksForNothingElse(t *testing.T) {
	t.Parallel()
	s := newScene(newWorld(access.Rules{}))
	c := s.connect(t)
	gone, kept := s.subscribe(t, c, "gone", kinds(7)), s.subscribe(t, c, "kept", kinds(7, 1))
	s.apply(t, control.Row{Type: control.KindsDisallowed, Kinds: []int{7}}, access.ScopeRelay)
	require.False(t, gone.Current())
	require.True(t, kept.Current())
	require.Equal(t, []string{`["CLOSED","gone","restricted: kind 7 is not served"]`}, sent(c))
}

func TestARowThatCannotBeReadCutsNobody(t *testing.T) {
	t.Parallel()
	s := newScene(newWorld(access.Rules{}))
	s.at[pause.ControlChanged] = func() { t.Error("nothing has changed") }
	err := s.Cutter.Apply(t.Context(), &store.Entry{Position: 1, Control: &store.Control{Data: []byte("x")}})
	require.ErrorIs(t, err, control.ErrBad)
}

// The third ordering: eviction against replacement of the same id. The handle is
// chosen and acted on, whatever the id stands for by then (G3).
func TestReplacementBeforeBetweenAndAfterAnEvictionSurvivesIt(t *testing.T) {
	t.Parallel()
	for _, point := range []pause.Point{pause.ControlChanged, pause.EvictSelected, pause.Evicted, ""} {
		t.Run(string("at "+point), func(t *testing.T) {
			t.Parallel()
			s := newScene(newWorld(access.Rules{}, withGroups(newFakeGroups())))
			s.put(t, control.Row{Type: control.GroupCreated, Group: "pizza", Key: alice, Stamp: 1}, "g:pizza")
			c := s.connect(t, alice)
			older := s.subscribe(t, c, "x", inGroup("pizza"))
			var newer *lifecycle.Handle
			replace := func() { newer = s.subscribe(t, c, "x", kinds(1)) }
			s.at[point] = replace
			s.apply(t, control.Row{Type: control.GroupRemoved, Group: "pizza", Key: alice, Stamp: 2}, "g:pizza")
			if point == "" {
				replace()
			}
			require.False(t, older.Current())
			require.True(t, newer.Current())
			require.Equal(t, map[*lifecycle.Handle]bool{newer: true}, s.index.handles)
			require.Empty(t, sent(c), "a CLOSED would be taken for the answer to the newer REQ")
		})
	}
}

// A ban and an AUTH of its key, in every interleaving: one of the two ends the
// connection.
func TestABanAndAnAuthenticationNeverMissEachOther(t *testing.T) {
	t.Parallel()
	points := []pause.Point{"before", pause.ControlChanged, pause.EvictSelected, "after"}
	for i, add := range points {
		for _, ask := range points[i:] {
			t.Run(string(add+" "+ask), func(t *testing.T) {
				t.Parallel()
				s := newScene(newWorld(access.Rules{}))
				c := s.connect(t, alice)
				run := func(p pause.Point) {
					if p == add {
						c.AddKey(carol)
					}
					if p != ask {
						return
					}
					if err := s.MayAuthenticate(carol); err != nil {
						c.Close(lifecycle.Cause{Code: 1008, Text: err.Error()})
					}
				}
				for _, p := range points[1:3] {
					s.at[p] = func() { run(p) }
				}
				run("before")
				s.apply(t, control.Row{Type: control.KeyBanned, Key: carol}, carol)
				run("after")
				require.Equal(t, 1008, c.Cause().Code)
			})
		}
	}
}

// A REQ that is judged before a revocation and reserved after handles were chosen
// sees another version, in every interleaving.
func TestARevocationAndAREQNeverMissEachOther(t *testing.T) {
	t.Parallel()
	points := []pause.Point{"before", pause.ControlChanged, pause.EvictSelected, pause.Evicted, "after"}
	for i, judged := range points {
		for j, reserved := range points[i:] {
			for _, rechecked := range points[i+j:] {
				t.Run(string(judged+" "+reserved+" "+rechecked), func(t *testing.T) {
					t.Parallel()
					raceREQ(t, points, judged, reserved, rechecked)
				})
			}
		}
	}
}

func raceREQ(t *testing.T, points []pause.Point, judged, reserved, rechecked pause.Point) {
	s := newScene(newWorld(access.Rules{}, withGroups(newFakeGroups())))
	s.put(t, control.Row{Type: control.GroupCreated, Group: "pizza", Key: alice, Stamp: 1}, "g:pizza")
	c := s.connect(t, alice)
	s.subscribe(t, c, "other", inGroup("pizza")) // so that there is something to evict
	want := filters(inGroup("pizza"))
	var version uint64
	var refused error
	var h *lifecycle.Handle
	run := func(p pause.Point) {
		if p == judged {
			version, refused = s.Version(), s.MayRead(c.Keys(), want)
		}
		if refused != nil {
			return
		}
		if p == reserved {
			h = s.subscribe(t, c, "x", inGroup("pizza"))
		}
		if p == rechecked && s.Version() != version && s.MayRead(c.Keys(), want) != nil {
			h.Evict(wire.Because(wire.Restricted, "no"))
			s.index.Remove(h)
		}
	}
	for _, p := range points[1 : len(points)-1] {
		s.at[p] = func() { run(p) }
	}
	run("before")
	s.apply(t, control.Row{Type: control.GroupRemoved, Group: "pizza", Key: alice, Stamp: 2}, "g:pizza")
	run("after")
	require.Empty(t, c.Handles())
	require.Empty(t, s.index.handles)
	require.Len(t, slices.DeleteFunc(sent(c), func(f string) bool { return !strings.Contains(f, `"other"`) }), 1)
}

// While the cutter is between the state and the handles, nothing that was decided
// under the old permissions is taken, and what is not concerned goes on.
func TestAFrameOfARevokedReaderIsNotTakenWhileHandlesAreChosen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(newWorld(access.Rules{}, withGroups(newFakeGroups())))
		s.put(t, control.Row{Type: control.GroupCreated, Group: "pizza", Key: alice, Stamp: 1}, "g:pizza")
		s.put(t, control.Row{Type: control.GroupPut, Group: "pizza", Key: bob, Stamp: 2})
		secret := event(bob, 9, nostr.Tag{"h", "pizza"})
		var readers []*lifecycle.Conn
		for _, key := range keys(alice, bob) {
			c := s.connect(t, key)
			h := s.subscribe(t, c, "x", nostr.Filter{})
			h.Begin(0)
			_, err := h.GoLive(wire.HintFinish)
			require.NoError(t, err)
			sight := s.Sight(secret)
			require.True(t, sight.May(c.Keys()))
			require.Equal(t, lifecycle.Queued, h.Deliver(10, secret, sight.Grant))
			readers = append(readers, c)
		}
		s.parks[pause.ControlChanged] = make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.apply(t, control.Row{Type: control.GroupRemoved, Group: "pizza", Key: alice, Stamp: 3}, "g:pizza")
		}()
		synctest.Wait()
		for _, c := range readers {
			require.Len(t, sent(c), 1, "EOSE; the event is decided about again")
		}
		synctest.Wait()
		require.Empty(t, sent(readers[0]))
		require.Len(t, sent(readers[1]), 1)
		close(s.parks[pause.ControlChanged])
		<-done
		require.Len(t, s.index.handles, 2, "a broad subscription stays")
	})
}
