package handlers_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// elsewhere runs test with a reader who has been let in on another replica: the row is
// committed, and in force here after the next Step.
func elsewhere(t *testing.T, o harness.Options, test func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &policy{}
		var admitted atomic.Bool
		p.apply = func(*store.Entry) error {
			admitted.Store(true)
			return nil
		}
		p.read = func([]string, []*wire.Filter) error {
			if admitted.Load() {
				return nil
			}
			return refused
		}
		o.Writing, o.Reading, o.Controls, o.Handlers = p, p, p, negLimits
		r := harness.New(t, o)
		r.Commit(t, texted(t, "for members"))
		r.Step(t)
		r.Store.Append(t.Context(), []store.Write{{Controls: []store.Control{row("relay")}}})
		test(t, p, r, r.Connect(t))
	})
}

var replicated = harness.Options{Replicas: true}

// asks are the ways to ask, each with what ends a refused one.
var asks = map[string]struct{ ask, refusal, yes string }{
	"REQ":      {`["REQ","x",{}]`, `["CLOSED","x","restricted: not for you"]`, "EVENT x"},
	"COUNT":    {`["COUNT","x",{}]`, `["CLOSED","x","restricted: not for you"]`, "COUNT x"},
	"CHANGES":  {`["CHANGES","x",{"since":0}]`, `["CHANGES","x","ERR","restricted: not for you"]`, "CHANGES x"},
	"NEG-OPEN": {negOpen("x", "{}", empty), `["NEG-ERR","x","restricted: not for you"]`, "NEG-MSG x"},
}

// Whoever was told on one replica that he is in is let in on every other one.
func TestWhoWasAdmittedElsewhereIsNotRefused(t *testing.T) {
	t.Parallel()
	for name, how := range asks {
		t.Run(name, func(t *testing.T) {
			elsewhere(t, replicated, func(t *testing.T, _ *policy, r *harness.Relay, c *harness.Client) {
				c.Send(how.ask)
				require.Empty(t, c.Settle(), "it waits for the row")
				ev := texted(t, "the reader goes on")
				requireOK(t, sayOne(t, c, publish(ev)), ev, true, "")
				r.Step(t)
				var got []wire.RelayMessage
				for _, frame := range c.Settle() {
					m, err := wire.DecodeRelay([]byte(frame))
					require.NoError(t, err)
					got = append(got, m)
				}
				require.NotEmpty(t, got)
				require.Equal(t, how.yes, verbs(got)[0])
			})
		})
	}
}

func TestARefusalDoesNotWaitForLong(t *testing.T) {
	t.Parallel()
	for name, how := range asks {
		t.Run(name, func(t *testing.T) {
			elsewhere(t, replicated, func(t *testing.T, _ *policy, r *harness.Relay, c *harness.Client) {
				c.Send(how.ask)
				pass(time.Second - 1)
				require.Empty(t, c.Settle())
				pass(1)
				require.Equal(t, []string{how.refusal}, c.Settle())
				require.Zero(t, c.Conn.Usage().Subscriptions+r.Index.Len())
			})
		})
	}
}

// What is in force here decides at once where there is nothing to wait for.
func TestARefusalOfWhatIsInForceIsImmediate(t *testing.T) {
	t.Parallel()
	for name, how := range asks {
		t.Run(name, func(t *testing.T) {
			elsewhere(t, replicated, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
				r.Step(t)
				p.read = func([]string, []*wire.Filter) error { return refused }
				c.Send(how.ask)
				begin := time.Now()
				require.Equal(t, []string{how.refusal}, c.Settle())
				require.Equal(t, begin, time.Now())
			})
			elsewhere(t, harness.Options{}, func(t *testing.T, _ *policy, _ *harness.Relay, c *harness.Client) {
				c.Send(how.ask)
				require.Equal(t, []string{how.refusal}, c.Settle(), "nobody else writes to this store")
			})
			away := harness.Options{Replicas: true, Wrap: func(s store.Store) store.Store { return headless{s} }}
			elsewhere(t, away, func(t *testing.T, _ *policy, _ *harness.Relay, c *harness.Client) {
				c.Send(how.ask)
				require.Equal(t, []string{how.refusal}, c.Settle(), "the database is away")
			})
		})
	}
}

// headless is a store that does not say how long its log is.
type headless struct{ store.Store }

func (headless) Log(context.Context) (store.LogInfo, error) { return store.LogInfo{}, errDisk }

// G9: a key that came later is none of the reader's of then.
func TestALateJudgementIsAboutTheReaderOfThen(t *testing.T) {
	t.Parallel()
	for name, how := range asks {
		t.Run(name, func(t *testing.T) {
			elsewhere(t, replicated, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
				p.read = func(keys []string, _ []*wire.Filter) error {
					if len(keys) == 0 {
						return refused
					}
					return nil
				}
				c.Send(how.ask)
				require.Empty(t, c.Settle())
				authenticate(t, c, alice)
				r.Step(t)
				require.Equal(t, []string{how.refusal}, c.Settle())
			})
		})
	}
}

// G2, G5: what waits is the current generation of its id, like any other.
func TestAWaitingRequestIsReplacedAndClosed(t *testing.T) {
	t.Parallel()
	elsewhere(t, replicated, func(t *testing.T, _ *policy, r *harness.Relay, c *harness.Client) {
		c.Send(`["REQ","x",{}]`)
		c.Send(`["REQ","x",{"ids":[]}]`)
		c.Send(`["REQ","y",{}]`)
		c.Send(`["CLOSE","y"]`)
		require.Empty(t, c.Settle())
		r.Step(t)
		require.Equal(t, []string{`["EOSE","x",["finish"]]`}, c.Settle())
		require.Equal(t, 1, r.Index.Len())
	})
}

// A stranger's requests wait in the places that his queries have anyway.
func TestWaitingRequestsAreQueriesOfTheirConnection(t *testing.T) {
	t.Parallel()
	limits := harness.DefaultLimits()
	limits.Queries = 2
	elsewhere(t, harness.Options{Replicas: true, Limits: limits}, func(t *testing.T, _ *policy, r *harness.Relay, c *harness.Client) {
		for _, id := range []string{"a", "b", "c"} {
			c.Send(`["REQ","` + id + `",{}]`)
		}
		pass(time.Second)
		require.Len(t, c.Settle(), 2)
		pass(time.Second)
		require.Len(t, c.Settle(), 1)
		require.Zero(t, c.Conn.Usage().Subscriptions)
	})
}
