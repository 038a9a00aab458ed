package handlers_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/handlers"
	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

func TestAFeedGoesOnBehindAPosition(t *testing.T) {
	t.Parallel()
	all := []string{"1 note 1", "2 note 2", "3 note 3", "4 note 4", "5 note 5", "EOSE 5"}
	token := func(at uint64) string {
		return wire.Cursor{Epoch: "fake", Position: at, Prefix: store.PrefixOf(fruit(int(at)))}.Token()
	}
	tests := []struct {
		name, fields string
		floor        uint64
		want         []string
	}{
		{"from the beginning", ``, 0, all},
		{"the same", `"since":0`, 0, all},
		{"of the right epoch", `"since":3,"epoch":"fake"`, 0, all[3:]},
		{"at the head", `"since":5`, 0, all[5:]},
		{"above the head", `"since":6`, 0, []string{"ERR resync"}},
		{"far above it", `"since":9223372036854775807`, 0, []string{"ERR resync"}},
		{"of another epoch", `"since":3,"epoch":"other"`, 0, []string{"ERR resync"}},
		{"of no epoch", `"since":3,"epoch":""`, 0, all[3:]},
		{"by a token", `"since":"` + token(3) + `"`, 0, all[3:]},
		{"by a token and its epoch", `"since":"` + token(3) + `","epoch":"fake"`, 0, all[3:]},
		{"by a token and another epoch", `"epoch":"other","since":"` + token(3) + `"`, 0, []string{"ERR resync"}},
		{"by a token of another event", `"since":"` + strings.Replace(token(3), ":3:", ":2:", 1) + `"`, 0, []string{"ERR resync"}},
		{"by a token of another epoch", `"since":"x` + token(3) + `"`, 0, []string{"ERR resync"}},
		{"by what is no token", `"since":"yesterday"`, 0, []string{"ERR resync"}},
		{"by an empty text", `"since":""`, 0, []string{"ERR resync"}},
		{"below the floor by one", `"since":2`, 3, all[2:]},
		{"below it by two", `"since":1`, 3, []string{"ERR resync"}},
		{"at the floor", `"since":3`, 3, all[3:]},
		{"from a beginning that is gone", ``, 2, []string{"ERR resync"}},
		{"below the floor by one, with a token", `"since":"` + token(2) + `"`, 3, all[2:]},
		{"all is gone but the end", `"since":5`, 6, all[5:]},
		{"all is gone", `"since":4`, 6, []string{"ERR resync"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			feeding(t, func(t *testing.T, _ *harness.Relay, c *harness.Client, log cut) {
				log.floor.Store(test.floor)
				require.Equal(t, test.want, changes(t, c, test.fields))
				require.Zero(t, c.Conn.Usage(), "a feed that is not live is over")
			})
		})
	}
}

func TestTheEndOfAFeedSaysFromWhereToGoOn(t *testing.T) {
	t.Parallel()
	feeding(t, func(t *testing.T, _ *harness.Relay, c *harness.Client, log cut) {
		end := say(t, c, `["CHANGES","x",{"kinds":[9]}]`)[0]
		require.Equal(t, wire.RelayMessage{
			Verb: "CHANGES", Sub: "x", Change: "EOSE", Position: 5, Epoch: "fake",
			Token: "fake:5:" + fruit(5).ID[:16],
		}, end, "also when nothing matched")
		log.floor.Store(3)
		require.Equal(t, wire.RelayMessage{
			Verb: "CHANGES", Sub: "x", Change: "ERR", Epoch: "fake", Floor: 3, Head: 5,
			Text: "resync: the log does not reach back to that position",
		}, say(t, c, `["CHANGES","x",{}]`)[0])
	})
}

func TestALiveFeedGoesOn(t *testing.T) {
	t.Parallel()
	feeding(t, func(t *testing.T, r *harness.Relay, c *harness.Client, _ cut) {
		require.Equal(t, []string{"5 note 5", "EOSE 5"}, changes(t, c, `"since":3,"live":true,"kinds":[1]`))
		r.Commit(t, fruit(6), fruit(7))
		r.Step(t)
		require.Equal(t, []string{"7 note 7"}, told(say(t, c, `["CLOSE","y"]`)))
		require.Equal(t, 1, r.Index.Len())
		require.Empty(t, say(t, c, `["CLOSE","x"]`))
		r.Commit(t, fruit(9))
		r.Step(t)
		require.Empty(t, c.Settle())
		require.Zero(t, r.Index.Len())
		require.Zero(t, c.Conn.Usage())
	})
}

func TestAFeedTellsWhatWasRemovedToWhoAsks(t *testing.T) {
	t.Parallel()
	feeding(t, func(t *testing.T, r *harness.Relay, c *harness.Client, _ cut) {
		live, plain := r.Connect(t), r.Connect(t)
		require.Equal(t, []string{"EOSE 5"}, changes(t, live, `"since":5,"live":true,"removed":true,"kinds":[1]`))
		require.Equal(t, []string{"EOSE 5"}, changes(t, plain, `"since":5,"live":true,"kinds":[1,5]`))
		r.Commit(t, deletion(fruit(3)), deletion(fruit(4)))
		r.Step(t)
		require.Equal(t, []string{gone(7, fruit(3))}, told(say(t, live, `["CLOSE","y"]`)), "8 is the other deletion, 9 of another kind")
		require.Len(t, say(t, plain, `["CLOSE","y"]`), 2, "the requests themselves")
		require.Equal(t, []string{gone(7, fruit(3)), "EOSE 9"}, changes(t, c, `"since":5,"removed":true,"kinds":[1]`))
		require.Equal(t, []string{"EOSE 9"}, changes(t, c, `"since":5,"kinds":[1]`))
		require.Equal(t, []string{"1 note 1", "5 note 5", "EOSE 9"}, changes(t, c, `"kinds":[1]`))
	})
}

func TestALimitedFeedSaysThatThereIsMore(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fields string
		want   []string
	}{
		{`"limit":2`, []string{"1 note 1", "2 note 2", "EOSE 2 more"}},
		{`"limit":2,"kinds":[1]`, []string{"1 note 1", "3 note 3", "EOSE 4 more"}},
		{`"limit":3,"kinds":[1]`, []string{"1 note 1", "3 note 3", "5 note 5", "EOSE 5"}},
		{`"limit":0`, []string{"EOSE 0 more"}},
		{`"limit":0,"since":5`, []string{"EOSE 5"}},
		{`"limit":2,"live":true`, []string{"1 note 1", "2 note 2", "EOSE 2 more", "ERR error"}},
		{`"limit":5,"live":true`, []string{"1 note 1", "2 note 2", "3 note 3", "4 note 4", "5 note 5", "EOSE 5"}},
	}
	for _, test := range tests {
		t.Run(test.fields, func(t *testing.T) {
			t.Parallel()
			feeding(t, func(t *testing.T, r *harness.Relay, c *harness.Client, _ cut) {
				require.Equal(t, test.want, changes(t, c, test.fields))
				over := test.want[len(test.want)-1] != "EOSE 5" || !strings.Contains(test.fields, "live")
				require.Equal(t, over, c.Conn.Usage().Subscriptions == 0)
				require.Equal(t, over, r.Index.Len() == 0)
			})
		})
	}
}

func TestOneIDIsForAReqOrAFeed(t *testing.T) {
	t.Parallel()
	feeding(t, func(t *testing.T, r *harness.Relay, c *harness.Client, _ cut) {
		require.Len(t, say(t, c, `["REQ","x",{"kinds":[1]}]`), 4)
		require.Equal(t, []string{"EOSE 5"}, changes(t, c, `"since":5,"live":true,"kinds":[1]`))
		r.Commit(t, fruit(7))
		r.Step(t)
		require.Equal(t, []string{"6 note 7"}, told(say(t, c, `["CLOSE","y"]`)), "once, by the feed")
		require.Len(t, say(t, c, `["REQ","x",{"kinds":[2]}]`), 3)
		r.Commit(t, fruit(9), fruit(8))
		r.Step(t)
		require.Equal(t, []string{"EVENT x"}, verbs(say(t, c, `["CLOSE","y"]`)), "once, by the REQ")
		require.Equal(t, 1, c.Conn.Usage().Subscriptions)
	})
}

func TestARefusedFeedIsAnsweredWithErr(t *testing.T) {
	t.Parallel()
	for msg, prefix := range map[string]wire.Prefix{
		`["CHANGES","x",{"kinds":[1,2,3,4]}]`:   wire.Invalid,
		`["CHANGES","x",{"search":"a"}]`:        wire.Unsupported,
		`["CHANGES","x",{"until":1}]`:           wire.Unsupported,
		`["CHANGES","x",{"colour":1}]`:          wire.Unsupported,
		`["CHANGES","x",{"since":-1}]`:          wire.Invalid,
		`["CHANGES","x",{"since":1.5}]`:         wire.Invalid,
		`["CHANGES","x",{"live":1}]`:            wire.Invalid,
		`["CHANGES","x",{"limit":1,"limit":1}]`: wire.Invalid,
		`["CHANGES","x",{},{}]`:                 wire.Invalid,
		`["CHANGES","x",null]`:                  wire.Invalid,
		`["CHANGES","x"]`:                       wire.Invalid,
	} {
		o := harness.Options{Handlers: handlers.Limits{FilterValues: 3}}
		talk(t, o, func(t *testing.T, r *harness.Relay, c *harness.Client) {
			say(t, c, `["REQ","x",{}]`)
			m := sayOne(t, c, msg)
			require.Equal(t, []string{"CHANGES", "x", "ERR"}, []string{m.Verb, m.Sub, m.Change}, msg)
			requirePrefix(t, m.Text, prefix)
			require.Zero(t, r.Index.Len(), "the older one has ended")
			require.Zero(t, c.Conn.Usage())
		})
	}
}

func TestAFeedIsCountedAmongTheSubscriptions(t *testing.T) {
	t.Parallel()
	o := harness.Options{Limits: harness.DefaultLimits()}
	o.Limits.Subscriptions = 1
	talk(t, o, func(t *testing.T, _ *harness.Relay, c *harness.Client) {
		say(t, c, `["REQ","y",{}]`)
		m := sayOne(t, c, `["CHANGES","x",{}]`)
		require.Equal(t, "ERR", m.Change)
		requirePrefix(t, m.Text, wire.RateLimited)
	})
}

func TestAFeedOverABrokenLogFails(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(store.Store) store.Store{
		"no end":  func(s store.Store) store.Store { return deaf{s} },
		"no rows": func(s store.Store) store.Store { return unreadable{s} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			talk(t, wrap(spoil), func(t *testing.T, r *harness.Relay, c *harness.Client) {
				r.Commit(t, fruit(1))
				m := sayOne(t, c, `["CHANGES","x",{"live":true}]`)
				require.Equal(t, "ERR", m.Change)
				requirePrefix(t, m.Text, wire.Failed)
				require.NotContains(t, m.Text, "disk")
				require.Zero(t, r.Index.Len())
			})
		})
	}
}

// A narrow filter over a long log ends with the place that was reached.
func TestTheTimeOfTheStoreForAFeedIsBounded(t *testing.T) {
	t.Parallel()
	for live, want := range map[bool][]string{false: {"EOSE 24 more"}, true: {"EOSE 24 more", "ERR error"}} {
		o := wrap(func(s store.Store) store.Store { return slowLog{s} })
		o.Handlers.QueryTimeout = 2500 * time.Millisecond
		talk(t, o, func(t *testing.T, r *harness.Relay, c *harness.Client) {
			for n := range 1000 {
				r.Commit(t, fruit(n))
			}
			c.Send(fmt.Sprintf(`["CHANGES","x",{"kinds":[9],"live":%v}]`, live))
			pass(time.Minute)
			require.Equal(t, want, told(say(t, c, `["CLOSE","y"]`)))
		})
	}
}

func TestAFeedWithoutTimeForOnePageFails(t *testing.T) {
	t.Parallel()
	o := wrap(func(s store.Store) store.Store { return slowLog{s} })
	o.Handlers.QueryTimeout = 500 * time.Millisecond
	talk(t, o, func(t *testing.T, r *harness.Relay, c *harness.Client) {
		r.Commit(t, fruit(1))
		c.Send(`["CHANGES","x",{}]`)
		pass(time.Minute)
		require.Equal(t, []string{"ERR error"}, told(say(t, c, `["CLOSE","y"]`)))
	})
}

func TestEphemeralEventsAreNeverReplayedToAFeed(t *testing.T) {
	t.Parallel()
	spark := storetest.Draft{Key: 1, Kind: 20001, At: now, Content: "spark"}.Event()
	feeding(t, func(t *testing.T, r *harness.Relay, c *harness.Client, _ cut) {
		r.Commit(t, spark)
		r.Step(t)
		require.Equal(t, []string{"EOSE 6"}, changes(t, c, `"since":5,"live":true`))
		r.Commit(t, storetest.Draft{Key: 1, Kind: 20001, At: now, Content: "spark 2"}.Event())
		r.Step(t)
		require.Equal(t, []string{"7 spark 2"}, told(say(t, c, `["CLOSE","y"]`)))
	})
}

// What may be seen is decided when the feed asks, not when the position was issued.
func TestAFeedIsJudgedWhenItResumes(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
		r.Commit(t, fruit(1), fruit(2), fruit(3))
		r.Step(t)
		require.Equal(t, []string{"2 note 2", "3 note 3", "EOSE 3"}, changes(t, c, `"since":1`))
		p.sight = hide(fruit(3))
		require.Equal(t, []string{"2 note 2", "EOSE 3"}, changes(t, c, `"since":1`))
		p.read = func([]string, []*wire.Filter) error { return refused }
		require.Equal(t, []string{"ERR restricted"}, changes(t, c, `"since":1`))
	})
}

// A revocation between judging and reserving has not seen the handle.
func TestAFeedIsJudgedAgainWhenPermissionsMoved(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
		asked := 0
		p.read = func([]string, []*wire.Filter) error {
			if asked++; asked > 1 {
				return refused
			}
			p.version.Add(1)
			return nil
		}
		require.Equal(t, []string{"ERR restricted"}, changes(t, c, `"live":true`))
		require.Zero(t, r.Index.Len())
	})
}

func TestAFeedWaitsForTheControlRowsOfItsLog(t *testing.T) {
	t.Parallel()
	ruled(t, func(t *testing.T, p *policy, r *harness.Relay, c *harness.Client) {
		r.Commit(t, fruit(1))
		p.apply = func(*store.Entry) error {
			p.sight = hide(fruit(1))
			return nil
		}
		r.Store.Append(t.Context(), []store.Write{{Controls: []store.Control{row("relay")}}})
		require.Empty(t, changes(t, c, ``), "the log holds what the row takes away")
		r.Step(t)
		synctest.Wait()
		require.Equal(t, []string{"EOSE 2"}, told(say(t, c, `["CLOSE","y"]`)))
	})
}
