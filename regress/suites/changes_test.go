//go:build !nopause

package suites_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// A changes feed against everything that a REQ is run against: R1, G1, G2, G6, G8.
// Each trace checks that the feed leaves nothing out and sends nothing twice.

// feedPoints are the places of a live CHANGES, in order. The reader stands at the
// first, a query at the others.
var feedPoints = []pause.Point{
	pause.ReqReserved, pause.ReqStarted, pause.ReqIndexed, pause.ReqBegun, pause.ReqPage, pause.ReqReplayed,
}

// feed returns a live CHANGES of id that asks for a kind and for removals.
func feed(id string, since, kind int) string {
	return fmt.Sprintf(`["CHANGES",%q,{"kinds":[%d],"since":%d,"live":true,"removed":true}]`, id, kind, since)
}

// brief tells frames of feeds in short: the position and "+" for an event or "-" for
// a removal, EOSE or the prefix of an ERR, each with the position if it has one.
func brief(t *testing.T, frames []string) []string {
	t.Helper()
	out := []string{}
	for _, f := range frames {
		m, err := wire.DecodeRelay([]byte(f))
		require.NoError(t, err)
		switch m.Change {
		case "EVENT":
			out = append(out, fmt.Sprint(m.Position, "+"))
		case "REMOVED":
			out = append(out, fmt.Sprint(m.Position, "-"))
		case "EOSE":
			out = append(out, fmt.Sprint("EOSE ", m.Position))
		case "ERR":
			prefix, _, _ := strings.Cut(m.Text, ":")
			out = append(out, "ERR "+prefix)
		default:
			out = append(out, m.Verb)
		}
	}
	return out
}

// TestAChangeAtTheSeamArrivesOnce lets a feed and the fan-out of two events and a
// removal stand at each of their points, the one or the other there first.
func TestAChangeAtTheSeamArrivesOnce(t *testing.T) {
	t.Parallel()
	remove := deletionOf(note(2, 1))
	for _, query := range feedPoints {
		for _, fanout := range append(fanoutPoints, "") { // "" is all of it
			for _, feedFirst := range []bool{false, true} {
				t.Run(fmt.Sprint(query, " x ", fanout, " feed first ", feedFirst), func(t *testing.T) {
					t.Parallel()
					inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
						w.Commit(t, note(1, 1), note(2, 1), note(3, 2))
						w.Step(t)
						var q *task
						if feedFirst {
							q = w.send(query, feed("x", 1, 1))
						}
						w.Commit(t, remove, note(4, 1), note(5, 1)) // 4, with its removal row at 5; 6; 7
						f := w.fanout(fanout)
						if !feedFirst {
							q = w.send(query, feed("x", 1, 1))
						}
						q.release()
						f.finish(t)
						q.finish(t)
						got := slices.DeleteFunc(brief(t, w.client.Settle()), func(s string) bool { return strings.HasPrefix(s, "EOSE") || s == "2+" })
						require.Equal(t, []string{"5-", "6+", "7+"}, got)
						w.settled(1)
					})
				})
			}
		}
	}
}

func deletionOf(ev *wire.Event) *wire.Event {
	return storetest.Draft{Key: 1, At: 2000, Kind: 5, Tags: nostr.Tags{{"e", ev.ID}}}.Event()
}

// feedRivals are messages that end the generation of x, with their places.
var feedRivals = []struct {
	msg    string
	points []pause.Point
	left   int // subscriptions
}{
	{closing("x"), closePoints, 0},
	{req("x", 2), append(slices.Clone(reqPoints), ""), 1},
	{feed("x", 0, 2), append(slices.Clone(feedPoints), ""), 1},
	{`["CHANGES","x",{"kinds":[2]}]`, []pause.Point{pause.ReqReserved, pause.ReqBegun, pause.ReqPage, pause.ReqReplayed, ""}, 0},
	{`["CHANGES","x",{"search":"a"}]`, []pause.Point{""}, 0},
	{`["REQ","x",null]`, []pause.Point{""}, 0},
}

// TestWhatEndsAFeedDuringItsReplayLeavesNothing parks the feed and its rival at each
// of their points.
func TestWhatEndsAFeedDuringItsReplayLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, rival := range feedRivals {
		for _, at := range feedPoints[1:] {
			for _, point := range rival.points {
				for _, deaf := range []bool{false, true} {
					t.Run(fmt.Sprint(rival.msg, " ", at, " x ", point, " over a deaf log ", deaf), func(t *testing.T) {
						t.Parallel()
						o := harness.Options{}
						if deaf {
							o.Wrap = func(s store.Store) store.Store { return deafLog{s} }
						}
						inWorld(t, o, func(t *testing.T, w *world) { endDuringReplay(t, w, at, point, rival.msg, rival.left) })
					})
				}
			}
		}
	}
}

func endDuringReplay(t *testing.T, w *world, at, point pause.Point, rival string, left int) {
	w.Commit(t, note(1, 1), note(2, 2))
	w.Step(t)
	older := w.send(at, feed("x", 0, 1))
	require.True(t, older.parked())
	newer := w.send(point, rival)
	older.stop.Release()
	if point != pause.CloseRead { // nothing is retired yet
		require.NotContains(t, brief(t, w.client.Settle()), "1+")
	}
	newer.finish(t)
	require.True(t, older.ended())
	w.Commit(t, note(3, 1), note(4, 2))
	w.settled(left)
}

// deafLog is a store that reads its log for those who have given up: what a feed owes
// to a fence it must not owe to its context.
type deafLog struct{ store.Store }

func (d deafLog) ReadLog(ctx context.Context, after store.Position, most int) ([]store.Entry, error) {
	return d.Store.ReadLog(context.WithoutCancel(ctx), after, most)
}

func (d deafLog) Log(ctx context.Context) (store.LogInfo, error) {
	return d.Store.Log(context.WithoutCancel(ctx))
}

// TestFeedsTakeEffectInTheOrderOfReading is G9: a burst in which each feed is closed
// by the next message.
func TestFeedsTakeEffectInTheOrderOfReading(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.Commit(t, note(1, 1))
		w.Step(t)
		for n := range 20 {
			w.client.Send(feed(fmt.Sprint(n), 0, 1))
			w.client.Send(closing(fmt.Sprint(n)))
		}
		require.Empty(t, w.client.Settle())
		w.settled(0)
	})
}

// TestWhatEndsAFeedDuringFanoutSendsNothingOfIt is the same for what is live.
func TestWhatEndsAFeedDuringFanoutSendsNothingOfIt(t *testing.T) {
	t.Parallel()
	for _, rival := range feedRivals {
		for _, at := range fanoutPoints {
			for _, point := range rival.points {
				t.Run(rival.msg+" "+string(at)+" x "+string(point), func(t *testing.T) {
					t.Parallel()
					inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
						w.Commit(t, note(1, 1))
						w.Step(t)
						w.open(feed("x", 0, 1))
						w.Commit(t, note(2, 1), note(3, 2), deletionOf(note(1, 1)))
						fanout := w.fanout(at)
						require.True(t, fanout.parked())
						newer := w.send(point, rival.msg)
						fanout.finish(t)
						if point != pause.CloseRead {
							got := brief(t, w.client.Settle())
							require.NotContains(t, got, "2+")
							require.NotContains(t, got, "5-")
						}
						newer.finish(t)
						w.settled(rival.left)
					})
				})
			}
		}
	}
}

// TestAFeedEndsAReqAtEachOfItsPoints is the other way round: one id is one
// generation, whichever verb it has.
func TestAFeedEndsAReqAtEachOfItsPoints(t *testing.T) {
	t.Parallel()
	for _, at := range reqPoints[1:] {
		for _, rival := range append(slices.Clone(feedPoints), "") {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
					w.Commit(t, note(1, 1), note(2, 2))
					w.Step(t)
					older := w.send(at, req("x", 1))
					require.True(t, older.parked())
					newer := w.send(rival, feed("x", 0, 2))
					older.stop.Release()
					require.NotContains(t, w.client.Settle(), frame("x", note(1, 1)))
					newer.finish(t)
					require.True(t, older.ended())
					w.Commit(t, note(3, 1), note(4, 2))
					w.settled(1)
				})
			})
		}
	}
}

// TestTwoFeedsWithOneID: the second has its own positions, and the first is over.
func TestTwoFeedsWithOneID(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.Commit(t, notes(4, 1)...)
		w.Step(t)
		w.client.Send(feed("x", 0, 1))
		synctest.Wait()
		require.Equal(t, 5, w.client.Conn.Usage().Frames)
		require.Equal(t, []string{"1+"}, brief(t, w.client.TakeBytes(1)))
		w.client.Send(feed("x", 2, 1))
		require.Equal(t, []string{"3+", "4+", "EOSE 4"}, brief(t, w.client.Settle()))
		w.Commit(t, note(9, 1))
		w.settled(1)
	})
}

// TestDisconnectDuringAFeedLeavesNothing parks the feed at each point.
func TestDisconnectDuringAFeedLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, at := range feedPoints[1:] {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
				w.Commit(t, note(1, 1))
				w.Step(t)
				older := w.send(at, feed("x", 0, 1))
				require.True(t, older.parked())
				gone := start(func() { w.client.Disconnect(t) })
				older.release()
				gone.finish(t)
				require.Zero(t, w.Index.Len())
				require.Zero(t, w.client.Conn.Usage())
			})
		})
	}
}

// TestAPublishedRemovalIsForWhoAskedForTheEvent: the index offers every feed of that
// author, and the filter decides.
func TestAPublishedRemovalIsForWhoAskedForTheEvent(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		w.Commit(t, note(1, 1), note(2, 2))
		w.Step(t)
		w.open(fmt.Sprintf(`["CHANGES","x",{"authors":[%q],"kinds":[1],"since":2,"live":true,"removed":true}]`, storetest.Key(1)))
		w.Commit(t, deletionOf(note(1, 1)), deletionOf(note(2, 2)))
		w.Step(t)
		require.Equal(t, []string{"4-"}, brief(t, w.client.Settle()))
		w.settled(1)
	})
}
