package handlers_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

func TestABannedKeyEndsTheConnection(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
		banned := pubkey(t, bob)
		p.authenticate = func(key string) error {
			if key == banned {
				return wire.Because(wire.Blocked, "you are banned")
			}
			return nil
		}
		authenticate(t, c, alice)
		require.Equal(t, []string{"EOSE x"}, verbs(say(t, c, `["REQ","x",{}]`)))
		ev := auth(t, c, bob, nil)
		requireOK(t, sayOne(t, c, authMessage(ev)), ev, false, wire.Blocked)
		require.Equal(t, lifecycle.Cause{Code: 1008, Text: "blocked: you are banned"}, c.Conn.Cause())
		require.Zero(t, c.Conn.Usage().Subscriptions)
	})
}

// The ban that comes with the key finds it on the connection, or is found.
func TestAKeyIsOnTheConnectionBeforeItIsAskedAbout(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, p *policy, _ *harness.Relay, c *harness.Client) {
		p.authenticate = func(key string) error {
			require.Contains(t, c.Conn.Keys(), key)
			return nil
		}
		authenticate(t, c, alice)
	})
}

// reads are the ways to read what is stored.
func reads(t *testing.T, c *harness.Client) (req, count []wire.RelayMessage) {
	t.Helper()
	return say(t, c, `["REQ","x",{}]`), say(t, c, `["COUNT","c",{}]`)
}

func TestWhatIsNotVisibleIsNeitherSentNorCounted(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
		r.Commit(t, texted(t, "open"), texted(t, "closed"))
		p.visible = func(ev *wire.Event) bool { return ev.Content == "open" }
		req, count := reads(t, c)
		require.Equal(t, []string{"EVENT x", "EOSE x"}, verbs(req))
		require.Equal(t, "open", req[0].Event.Content)
		require.Equal(t, []string{"finish"}, req[1].Hints)
		require.EqualValues(t, 1, count[0].Count)
	})
}

func TestAQueryAboutWhichNobodyCanDecideFails(t *testing.T) {
	t.Parallel()
	spoil := map[string]func(p *policy){
		"as a whole": func(p *policy) { p.failed = errOutside },
		"one event": func(p *policy) {
			p.failed = errOutside // COUNT does not look at events
			p.sight = func(*wire.Event) lifecycle.Sight {
				return lifecycle.Sight{Ask: func(context.Context, []string) (bool, error) { return false, errOutside }}
			}
		},
	}
	for name, spoil := range spoil {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ruled(t, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
				r.Commit(t, texted(t, "1"))
				spoil(p)
				req, count := reads(t, c)
				last := req[len(req)-1]
				for _, m := range []wire.RelayMessage{last, count[0]} {
					require.Equal(t, "CLOSED", m.Verb)
					requirePrefix(t, m.Text, wire.Failed)
					require.NotContains(t, m.Text, "inner")
				}
				require.Zero(t, r.Index.Len())
			})
		})
	}
}

// A decision from outside that fails while the frame waits ends the subscription
// and takes it out of the index.
func TestAFrameAboutWhichNobodyCanDecideEndsItsSubscription(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
		require.Equal(t, []string{"EOSE x"}, verbs(say(t, c, `["REQ","x",{}]`)))
		p.sight = func(*wire.Event) lifecycle.Sight {
			return lifecycle.Sight{Ask: func(context.Context, []string) (bool, error) { return true, errOutside }}
		}
		r.Commit(t, texted(t, "1"))
		r.Step(t)
		frames := c.Settle()
		require.Len(t, frames, 1)
		m, err := wire.DecodeRelay([]byte(frames[0]))
		require.NoError(t, err)
		require.Equal(t, "CLOSED", m.Verb)
		requirePrefix(t, m.Text, wire.Failed)
		require.Zero(t, r.Index.Len())
	})
}

func TestAFilterThatIsClosedIsRefused(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
		p.read = func(keys []string, _ []*wire.Filter) error {
			if len(keys) == 0 {
				return wire.Because(wire.AuthRequired, "members only")
			}
			return nil
		}
		req, count := reads(t, c)
		for _, m := range []wire.RelayMessage{req[0], count[0]} {
			require.Equal(t, "CLOSED", m.Verb)
			requirePrefix(t, m.Text, wire.AuthRequired)
		}
		authenticate(t, c, alice)
		req, count = reads(t, c)
		require.Equal(t, []string{"EOSE x", "COUNT c"}, append(verbs(req), verbs(count)...))
	})
}

// behind runs a query while a control row is committed and not in force.
func behind(t *testing.T, test func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client)) {
	t.Helper()
	ruled(t, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
		closed := false
		p.apply = func(*store.Entry) error {
			closed = true
			return nil
		}
		p.visible = func(*wire.Event) bool { return !closed }
		r.Commit(t, texted(t, "before"))
		r.Store.Append(t.Context(), []store.Write{{Controls: []store.Control{row("relay")}}})
		r.Commit(t, texted(t, "after"))
		c.Send(`["REQ","x",{}]`)
		c.Send(`["COUNT","c",{}]`)
		require.Empty(t, c.Settle(), "the snapshot holds what the row takes away")
		test(t, p, r, c)
	})
}

func TestAQueryWaitsForTheControlRowsOfItsSnapshot(t *testing.T) {
	t.Parallel()
	behind(t, func(t *testing.T, _ *policy, r *harness.Relay, c *harness.Client) {
		r.Step(t)
		require.Equal(t, []string{`["COUNT","c",{"count":0}]`, `["EOSE","x",["finish"]]`}, sorted(c.Settle()))
	})
}

func TestAQueryDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	behind(t, func(t *testing.T, _ *policy, r *harness.Relay, c *harness.Client) {
		pass(10 * time.Second)
		const why = `"error: the relay does not follow its log, try again"]`
		require.Equal(t, []string{`["CLOSED","c",` + why, `["CLOSED","x",` + why}, sorted(c.Settle()))
		require.Zero(t, r.Index.Len())
	})
}

func TestAQueryThatIsNoLongerWantedDoesNotWaitForControlRows(t *testing.T) {
	t.Parallel()
	behind(t, func(t *testing.T, _ *policy, _ *harness.Relay, c *harness.Client) {
		c.Send(`["CLOSE","x"]`)
		synctest.Wait()
		require.Zero(t, c.Conn.Group().Running()["req"])
		begin := time.Now()
		c.Disconnect(t)
		require.Equal(t, begin, time.Now())
	})
}

// COUNT has no frame that could be decided about again: what it says is counted
// under one state of the permissions.
func TestACountDuringWhichPermissionsMoveIsCountedAgain(t *testing.T) {
	t.Parallel()
	for times, want := range map[int]string{
		0: `["COUNT","c",{"count":1}]`, 1: `["COUNT","c",{"count":0}]`, 2: `["COUNT","c",{"count":0}]`,
		3: `["CLOSED","c","error: permissions changed too often, try again"]`,
	} {
		ruled(t, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
			left := times
			p.visible = func(*wire.Event) bool {
				open := p.version.Load() == 0
				if left > 0 {
					left--
					p.version.Add(1)
				}
				return open
			}
			r.Commit(t, texted(t, "1"))
			c.Send(`["COUNT","c",{}]`)
			require.Equal(t, []string{want}, c.Settle())
		})
	}
}

// late is a store in which something is committed just before a snapshot is taken.
type late struct {
	store.Store
	writes []store.Write
}

func (l late) Snapshot(ctx context.Context) (store.Snapshot, error) {
	l.Append(ctx, l.writes)
	return l.Store.Snapshot(ctx)
}

func TestACountWaitsForWhateverItsSnapshotHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, closed := &policy{}, false
		p.apply = func(*store.Entry) error {
			closed = true
			return nil
		}
		p.visible = func(*wire.Event) bool { return !closed }
		o := p.options()
		o.Wrap = func(s store.Store) store.Store {
			return late{s, []store.Write{{Controls: []store.Control{row("relay")}}, {Event: texted(t, "after")}}}
		}
		r := harness.New(t, o)
		c := r.Connect(t)
		c.Send(`["COUNT","c",{}]`)
		require.Empty(t, c.Settle())
		r.Step(t)
		require.Equal(t, []string{`["COUNT","c",{"count":0}]`}, c.Settle())
	})
}

// It is judged when it is read, before it is counted and after that.
func TestACountIsRefusedThatIsClosedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, times := range []int{1, 2} {
		ruled(t, func(t *testing.T, p *policy, _ *harness.Relay, c *harness.Client) {
			allowed := 0
			p.read = func([]string, []*wire.Filter) error {
				if allowed++; allowed > times {
					return refused
				}
				return nil
			}
			require.Equal(t, "restricted: not for you", sayOne(t, c, `["COUNT","c",{}]`).Text)
		})
	}
}

// A REQ has its position from the snapshot; a COUNT wants to know what came after it.
func TestACountWhoseLogCannotBeReadFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := (&policy{}).options()
		o.Wrap = func(s store.Store) store.Store { return deaf{s} }
		c := harness.New(t, o).Connect(t)
		req, count := reads(t, c)
		require.Equal(t, "EOSE", req[len(req)-1].Verb)
		require.Equal(t, "CLOSED", count[0].Verb)
		requirePrefix(t, count[0].Text, wire.Failed)
	})
}

// deaf is a store that does not say where its log ends.
type deaf struct{ store.Store }

func (deaf) Log(context.Context) (store.LogInfo, error) {
	return store.LogInfo{}, errors.New("disk is broken")
}
