package handlers_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

func TestHopelessEventsAreRefusedBeforeTheirSignature(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, p *policy, _ *harness.Relay, c *harness.Client) {
		p.submit = func([]string, *wire.Event) error { return refused }
		forged := texted(t, "true").Event
		forged.Sig = texted(t, "false").Sig
		ev := wire.NewEvent(forged)
		requireOK(t, sayOne(t, c, publish(ev)), ev, false, wire.Restricted)
	})
}

func TestOnlyVerifiedEventsAreDecidedAbout(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, p *policy, _ *harness.Relay, c *harness.Client) {
		p.plan = func([]string, *wire.Event) (store.Write, error) {
			require.Fail(t, "it is not what its author signed")
			return store.Write{}, nil
		}
		forged := texted(t, "true").Event
		forged.Sig = texted(t, "false").Sig
		ev := wire.NewEvent(forged)
		requireOK(t, sayOne(t, c, publish(ev)), ev, false, wire.Invalid)
	})
}

func TestDecisionsHaveTheirAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		event   bool // the plan has the event
		control bool // and a control row
		err     error
		ok      bool
		text    string
		head    store.Position
	}{
		{"allowed", true, false, nil, true, "", 1},
		{"allowed, with a change", true, true, nil, true, "", 2},
		{"a change alone", false, true, nil, true, "", 1},
		{"refused", false, false, refused, false, "restricted: not for you", 0},
		{"refused whatever the plan holds", true, true, refused, false, "restricted: not for you", 0},
		{"accepted and nothing to do", false, false, yes{wire.Because(wire.Duplicate, "you are a member")}, true, "duplicate: you are a member", 0},
		{"accepted with a change", false, true, yes{wire.Because(wire.Info, "welcome")}, true, "info: welcome", 1},
		{"nobody can tell", false, false, errOutside, false, "error: could not save the event", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ruled(t, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
				r.Run()
				p.plan = func(_ []string, ev *wire.Event) (w store.Write, err error) {
					if test.event {
						w.Event = ev
					}
					if test.control {
						w.Controls = []store.Control{row()}
					}
					return w, test.err
				}
				ev := texted(t, "1")
				m := sayOne(t, c, publish(ev))
				require.Equal(t, "OK", m.Verb)
				require.Equal(t, test.ok, m.OK)
				require.Equal(t, test.text, m.Text)
				info, err := r.Store.Log(t.Context())
				require.NoError(t, err)
				require.Equal(t, test.head, info.Head)
			})
		})
	}
}

func TestWhatWasBannedOrHasVanishedStaysOut(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, _ *policy, r *harness.Relay, c *harness.Client) {
		banned, vanished := texted(t, "1"), sign(t, bob, nostr.Event{})
		for _, w := range []store.Write{
			{Controls: []store.Control{row()}, Ban: []string{banned.ID}},
			{Controls: []store.Control{row()}, Erase: &store.Erasure{Author: vanished.PubKey, Until: now, Cause: store.CauseVanished}},
		} {
			require.NoError(t, r.Store.Append(t.Context(), []store.Write{w})[0].Err)
		}
		for _, ev := range []*wire.Event{banned, vanished} {
			requireOK(t, sayOne(t, c, publish(ev)), ev, false, wire.Blocked)
		}
	})
}

func TestAnEventIsJudgedByTheKeysThatHadAuthenticatedWhenItWasRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, open := &policy{}, make(chan struct{})
		o := p.options()
		o.Wrap = func(s store.Store) store.Store { return gated{s, open} }
		c := harness.New(t, o).Connect(t)
		p.plan = func(keys []string, ev *wire.Event) (store.Write, error) {
			if len(keys) == 0 && ev.Content != "first" {
				return store.Write{}, refused
			}
			return store.Write{Event: ev}, nil
		}
		first, before, after := texted(t, "first"), texted(t, "2"), texted(t, "3")
		c.Send(publish(first)) // holds up the lane
		synctest.Wait()
		c.Send(publish(before))
		authenticate(t, c, alice)
		c.Send(publish(after))
		close(open)
		frames := c.Settle()
		require.Len(t, frames, 3)
		for i, ok := range []bool{true, false, true} {
			m, err := wire.DecodeRelay([]byte(frames[i]))
			require.NoError(t, err)
			require.Equal(t, ok, m.OK, frames[i])
		}
	})
}

// G9: join, then post, then ask, in one burst.
func TestAChangeIsInForceBeforeTheNextMessageIsLookedAt(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
		r.Run()
		member, planned := false, 0
		p.apply = func(*store.Entry) error { member = true; return nil }
		p.plan = func(_ []string, ev *wire.Event) (store.Write, error) {
			if planned++; ev.Content == "join" {
				return store.Write{Event: ev, Controls: []store.Control{row()}}, nil
			}
			if !member {
				return store.Write{}, refused
			}
			return store.Write{Event: ev}, nil
		}
		outsider, join, post := texted(t, "too early"), texted(t, "join"), texted(t, "post")
		for _, ev := range []*wire.Event{outsider, join, post} {
			c.Send(publish(ev))
		}
		got := map[string]bool{}
		for _, frame := range c.Settle() {
			m, err := wire.DecodeRelay([]byte(frame))
			require.NoError(t, err)
			got[m.ID] = m.OK
		}
		require.Equal(t, map[string]bool{outsider.ID: false, join.ID: true, post.ID: true}, got)
		require.Equal(t, 3, planned)
	})
}

func TestAChangeIsAnsweredWhenItIsInForce(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
		p.plan = func(_ []string, ev *wire.Event) (store.Write, error) {
			return store.Write{Event: ev, Controls: []store.Control{row()}}, nil
		}
		ev := texted(t, "1")
		require.Empty(t, say(t, c, publish(ev)))
		r.Step(t)
		frames := c.Settle()
		require.Len(t, frames, 1)
		m, err := wire.DecodeRelay([]byte(frames[0]))
		require.NoError(t, err)
		requireOK(t, m, ev, true, "")
	})
}

// Nothing runs ahead of a change of the same connection that is not in force.
func TestAChangeHoldsUpItsConnectionAsLongAsItIsNotInForce(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
		r.Run()
		broken, planned := atomic.Bool{}, atomic.Int32{}
		broken.Store(true)
		p.apply = func(*store.Entry) error {
			if broken.Load() {
				return errors.New("unknown row")
			}
			return nil
		}
		p.plan = func(_ []string, ev *wire.Event) (store.Write, error) {
			planned.Add(1)
			return store.Write{Event: ev, Controls: []store.Control{row()}}, nil
		}
		one, two := texted(t, "1"), texted(t, "2")
		c.Send(publish(one))
		require.Empty(t, say(t, c, publish(two)))
		pass(time.Hour)
		require.Empty(t, c.Settle())
		require.EqualValues(t, 1, planned.Load())
		broken.Store(false)
		pass(time.Minute)
		frames := c.Settle()
		require.Len(t, frames, 2)
		for i, ev := range []*wire.Event{one, two} {
			m, err := wire.DecodeRelay([]byte(frames[i]))
			require.NoError(t, err)
			requireOK(t, m, ev, true, "")
		}
	})
}

// G9: what refers to an earlier event of the same burst finds it in the store.
func TestAnEventThatLooksBackFindsTheOnesBeforeIt(t *testing.T) {
	t.Parallel()
	for _, looks := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p, open := &policy{looks: looks}, make(chan struct{})
			o := p.options()
			o.Wrap = func(s store.Store) store.Store { return gated{s, open} }
			r := harness.New(t, o)
			c := r.Connect(t)
			heads := map[string]store.Position{}
			p.plan = func(_ []string, ev *wire.Event) (store.Write, error) {
				info, err := r.Store.Log(t.Context())
				heads[ev.Content] = info.Head
				return store.Write{Event: ev}, err
			}
			c.Send(publish(texted(t, "first"))) // holds up the lane
			synctest.Wait()
			c.Send(publish(texted(t, "1")))
			c.Send(publish(texted(t, "2")))
			synctest.Wait()
			close(open)
			require.Len(t, c.Settle(), 3)
			require.EqualValues(t, 1, heads["1"])
			if looks {
				require.EqualValues(t, 2, heads["2"])
			} else {
				require.EqualValues(t, 1, heads["2"], "others share a commit")
			}
		})
	}
}

func TestTheEndOfTheConnectionEndsTheWait(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, p *policy, _ *harness.Relay, c *harness.Client) {
		p.plan = func(_ []string, ev *wire.Event) (store.Write, error) {
			return store.Write{Event: ev, Controls: []store.Control{row()}}, nil
		}
		require.Empty(t, say(t, c, publish(texted(t, "1"))))
		begin := time.Now()
		c.Disconnect(t)
		require.Equal(t, begin, time.Now())
	})
}

// moving is a store in which a permission moves before each of the next commits.
type moving struct {
	store.Store
	times int
}

func (m *moving) Append(ctx context.Context, writes []store.Write) []store.Outcome {
	if m.times != 0 {
		m.times--
		m.Store.Append(ctx, []store.Write{{Controls: []store.Control{row("relay")}}})
	}
	return m.Store.Append(ctx, writes)
}

// inMotion runs a relay in which a permission moves so often while events commit
// whose plans rest on it.
func inMotion(t *testing.T, times int, test func(t *testing.T, p *policy, c *harness.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, epoch := &policy{}, store.Position(0)
		p.apply = func(e *store.Entry) error {
			if len(e.Control.Scopes) > 0 {
				epoch = e.Position
			}
			return nil
		}
		p.plan = func(_ []string, ev *wire.Event) (store.Write, error) {
			w := store.Write{Event: ev}
			if ev.Content != "free" {
				w.Terms = []store.Term{{Scope: "relay", Epoch: epoch}}
			}
			return w, nil
		}
		o := p.options()
		o.Wrap = func(s store.Store) store.Store { return &moving{s, times} }
		r := harness.New(t, o)
		r.Run()
		test(t, p, r.Connect(t))
	})
}

func TestAnEventWhosePermissionsMoveIsDecidedAnew(t *testing.T) {
	t.Parallel()
	for times, ok := range map[int]bool{0: true, 1: true, 2: true, 3: false, -1: false} {
		inMotion(t, times, func(t *testing.T, _ *policy, c *harness.Client) {
			ev := texted(t, "1")
			m := sayOne(t, c, publish(ev))
			if ok {
				requireOK(t, m, ev, true, "")
				return
			}
			requireOK(t, m, ev, false, wire.Failed)
			require.Equal(t, "error: permissions changed too often, try again", m.Text)
		})
	}
}

func TestTheNewDecisionCounts(t *testing.T) {
	t.Parallel()
	inMotion(t, 1, func(t *testing.T, p *policy, c *harness.Client) {
		plan, planned := p.plan, 0
		p.plan = func(keys []string, ev *wire.Event) (store.Write, error) {
			if planned++; planned > 1 {
				return store.Write{}, refused
			}
			return plan(keys, ev)
		}
		ev := texted(t, "1")
		requireOK(t, sayOne(t, c, publish(ev)), ev, false, wire.Restricted)
	})
}

func TestEventsThatRestOnNothingThatMovedAreNotHeldUp(t *testing.T) {
	t.Parallel()
	inMotion(t, -1, func(t *testing.T, _ *policy, c *harness.Client) {
		bound, free := texted(t, "bound"), texted(t, "free")
		c.Send(publish(bound))
		c.Send(publish(free))
		got := map[string]bool{}
		for _, frame := range c.Settle() {
			m, err := wire.DecodeRelay([]byte(frame))
			require.NoError(t, err)
			got[m.ID] = m.OK
		}
		require.Equal(t, map[string]bool{bound.ID: false, free.ID: true}, got)
	})
}

// A change ends its commit also when it had to be decided about anew.
func TestAChangeThatMovedIsInForceBeforeTheNextEvent(t *testing.T) {
	t.Parallel()
	inMotion(t, 2, func(t *testing.T, p *policy, c *harness.Client) {
		plan, order := p.plan, []string{}
		p.plan = func(keys []string, ev *wire.Event) (store.Write, error) {
			order = append(order, ev.Content)
			w, err := plan(keys, ev)
			if ev.Content == "join" {
				w.Controls = []store.Control{row()}
			}
			return w, err
		}
		for _, text := range []string{"join", "post"} {
			c.Send(publish(texted(t, text)))
		}
		require.Len(t, c.Settle(), 2)
		require.Equal(t, []string{"join", "join", "join", "post"}, order)
	})
}
