//go:build !nopause

package suites_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/wire"
)

// A client that reads slowly or not at all, and healthy ones beside it: G8.

// narrow returns a relay whose connections queue few frames.
func narrow(frames int) harness.Options {
	o := harness.Options{Limits: harness.DefaultLimits()}
	o.Limits.QueueFrames = frames
	return o
}

func TestStoredEventsWaitForRoomAndThenEndTheSubscription(t *testing.T) {
	t.Parallel()
	o := narrow(16)
	inWorld(t, o, func(t *testing.T, w *world) {
		w.Commit(t, notes(100, 1)...)
		w.Step(t)
		w.client.Send(req("x", 1))
		synctest.Wait()
		require.Equal(t, 8, w.client.Conn.Usage().Frames, "half of the queue is for live frames")
		after(o.Limits.RoomTimeout - time.Second)
		require.Equal(t, 1, w.client.Conn.Usage().Subscriptions)
		after(2 * time.Second)
		requireClosed(t, w.client.Settle(), "x", wire.Failed)
		w.settled(0)
	})
}

func TestStoredEventsGoOnWhenTheClientReads(t *testing.T) {
	t.Parallel()
	o := narrow(16)
	inWorld(t, o, func(t *testing.T, w *world) {
		w.Commit(t, notes(100, 1)...)
		w.Step(t)
		w.client.Send(req("x", 1))
		got := 0
		for got <= 100 {
			after(o.Limits.RoomTimeout - time.Second)
			synctest.Wait()
			require.LessOrEqual(t, w.client.Conn.Usage().Frames, 9)
			got += len(w.client.Take())
		}
		w.settled(1)
	})
}

// TestLargeEventsPassOneByOne: an event over half of the queue still passes.
func TestLargeEventsPassOneByOne(t *testing.T) {
	t.Parallel()
	o := harness.Options{Limits: harness.DefaultLimits()}
	o.Limits.QueueBytes = 4096
	inWorld(t, o, func(t *testing.T, w *world) {
		for n := range 5 {
			w.Commit(t, note(n, 1, []string{"t", fmt.Sprintf("%02500d", n)}))
		}
		w.Step(t)
		w.client.Send(req("x", 1))
		for range 5 {
			require.NotContains(t, verbs(t, w.client.Settle()), "CLOSED")
		}
		w.settled(1)
	})
}

// TestLiveFrameWithoutRoomEndsThatSubscriptionOnly: the publisher, the other
// subscriptions and the other clients go on.
func TestLiveFrameWithoutRoomEndsThatSubscriptionOnly(t *testing.T) {
	t.Parallel()
	inWorld(t, narrow(16), func(t *testing.T, w *world) {
		reader := w.Connect(t)
		reader.Send(req("x", 1))
		w.client.Send(req("x", 1))
		w.client.Send(req("y", 2))
		reader.Settle()
		w.client.Settle()

		for n := range 50 {
			msg, _ := publish(t, n)
			reader.Send(msg)
			synctest.Wait()
			w.Step(t)
			require.ElementsMatch(t, []string{"OK", "EVENT"}, verbs(t, reader.Take()))
			require.LessOrEqual(t, w.client.Conn.Usage().Frames, 16)
		}
		requireClosed(t, w.client.Settle(), "x", wire.Failed)
		require.Equal(t, 2, w.Index.Len())
		w.Commit(t, note(1, 2))
		w.Step(t)
		require.Equal(t, []string{frame("y", note(1, 2))}, w.client.Settle())
		reader.Check(t)
		reader.Disconnect(t)
		w.settled(1)
	})
}

// TestOverflowDuringFanoutRacesWithReplacement: what ends is the generation that
// overflowed; a REQ that came meanwhile lives.
func TestOverflowDuringFanoutRacesWithReplacement(t *testing.T) {
	t.Parallel()
	for _, rival := range reqPoints {
		t.Run(string(rival), func(t *testing.T) {
			t.Parallel()
			inWorld(t, narrow(8), func(t *testing.T, w *world) {
				w.Commit(t, note(99, 2))
				w.Step(t)
				w.open(req("x", 1))
				w.Commit(t, notes(7, 1)...)
				w.Step(t) // seven frames and the room of CLOSED
				w.Commit(t, note(7, 1), note(8, 2))
				fanout := w.fanout(pause.FanoutDecided)
				require.True(t, fanout.parked())
				newer := w.send(rival, req("x", 2))
				require.True(t, newer.parked())
				fanout.finish(t)
				newer.finish(t)
				require.NotContains(t, verbs(t, w.client.Settle()), "CLOSED")
				w.settled(1)
			})
		})
	}
}

// TestReplacementNeedsNoMoreRoomThanItGivesBack: every place of the queue is
// reserved or taken, and a REQ for an id that has two of them must not wait.
func TestReplacementNeedsNoMoreRoomThanItGivesBack(t *testing.T) {
	t.Parallel()
	for _, at := range append(reqPoints[1:], "") { // "" is a generation that is live
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			inWorld(t, narrow(5), func(t *testing.T, w *world) {
				w.open(req("a", 1))
				w.open(req("b", 1))
				w.Commit(t, note(1, 2))
				w.Step(t)
				older := w.send(at, req("x", 2))
				w.client.Take()
				for w.client.Conn.Notify([]byte(`["NOTICE","filler"]`)) {
					require.LessOrEqual(t, w.client.Conn.Usage().Frames, 2)
				}
				newer := start(func() { w.client.Send(req("x", 3)) })
				older.finish(t)
				require.Equal(t, at != "", newer.ended(), "EOSE and CLOSED against CLOSED alone")
				w.client.Settle()
				newer.finish(t)
				w.settled(3)
			})
		})
	}
}

// TestHeldFramesThatDoNotFitAreReadFromTheLog: the hold is larger than what the
// queue has left when the replay ends.
func TestHeldFramesThatDoNotFitAreReadFromTheLog(t *testing.T) {
	t.Parallel()
	inWorld(t, narrow(8), func(t *testing.T, w *world) {
		query := w.send(pause.ReqReplayed, req("x", 1))
		w.Commit(t, notes(20, 1)...)
		w.Step(t)
		query.finish(t)
		got := 0
		for got < 21 {
			synctest.Wait()
			require.LessOrEqual(t, w.client.Conn.Usage().Frames, 8)
			got += len(w.client.Take())
		}
		w.settled(1)
	})
}

// TestReaderStopsWhileAnAnswerDoesNotFit fills the queue with answers that
// nobody takes; the next message waits, and goes on when there is room.
func TestReaderStopsWhileAnAnswerDoesNotFit(t *testing.T) {
	t.Parallel()
	rows := map[string]func(t *testing.T, w *world) (msg, verb string){
		"EVENT": func(t *testing.T, _ *world) (string, string) {
			msg, _ := publish(t, 1)
			return msg, "OK"
		},
		"AUTH":    func(t *testing.T, w *world) (string, string) { return authMessage(t, w), "OK" },
		"COUNT":   func(*testing.T, *world) (string, string) { return `["COUNT","c",{}]`, "COUNT" },
		"REQ":     func(*testing.T, *world) (string, string) { return req("x", 1), "EOSE" },
		"bad REQ": func(*testing.T, *world) (string, string) { return `["REQ","x",null]`, "CLOSED" },
		"garbage": func(*testing.T, *world) (string, string) { return `{`, "NOTICE" },
	}
	for name, message := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, narrow(4), func(t *testing.T, w *world) {
				msg, verb := message(t, w)
				for range 4 {
					w.client.Send(`{`)
				}
				sending := start(func() { w.client.Send(msg) })
				require.False(t, sending.ended())
				require.Equal(t, 4, w.client.Conn.Usage().Frames)
				require.Len(t, w.client.Take(), 4)
				sending.finish(t)
				require.Equal(t, []string{verb}, verbs(t, w.client.Settle()))
				w.client.Send(closing("x"))
				w.settled(0)
			})
		})
	}
}

// TestReaderThatWaitsForRoomEndsWithTheConnection: G10 for a blocked reader.
func TestReaderThatWaitsForRoomEndsWithTheConnection(t *testing.T) {
	t.Parallel()
	for _, msg := range []string{`{`, `["COUNT","c",{}]`, req("x", 1), `["REQ","x",null]`} {
		inWorld(t, narrow(4), func(t *testing.T, w *world) {
			for range 4 {
				w.client.Send(`{`)
			}
			sending := start(func() { w.client.Send(msg) })
			require.False(t, sending.ended())
			w.client.Disconnect(t)
			sending.finish(t)
			requireGone(t, w)
		})
	}
}

// TestAnswersArePaidForWhenTheyAreRead: room is taken when the message is read
// and not when its answer comes.
func TestAnswersArePaidForWhenTheyAreRead(t *testing.T) {
	t.Parallel()
	inWorld(t, narrow(4), func(t *testing.T, w *world) {
		first, _ := publish(t, 1)
		parked := w.send(pause.EventVerified, first)
		require.True(t, parked.parked())
		for n := range 3 {
			msg, _ := publish(t, n+2)
			w.client.Send(msg)
		}
		fifth, _ := publish(t, 5)
		sending := start(func() { w.client.Send(fifth) })
		require.False(t, sending.ended(), "four answers are owed and nothing is queued")
		require.Zero(t, w.client.Conn.Usage().Frames)
		parked.finish(t)
		require.False(t, sending.ended(), "four answers are queued")
		require.Len(t, w.client.Take(), 4)
		sending.finish(t)
		w.settled(0)
	})
}

func TestNoticesAreDroppedWithoutRoom(t *testing.T) {
	t.Parallel()
	inWorld(t, narrow(2), func(t *testing.T, w *world) {
		notice := wire.AppendNotice(nil, wire.Because(wire.Failed, "the relay is about to stop"))
		require.True(t, w.client.Conn.Notify(notice))
		require.True(t, w.client.Conn.Notify(notice))
		require.False(t, w.client.Conn.Notify(notice))
		require.Len(t, w.client.Settle(), 2)
		require.True(t, w.client.Conn.Notify(notice))
		w.settled(0)
	})
}

// TestHealthyClientThatAsksForMuchIsServed opens many large subscriptions at
// once on a small queue, with live events all the while.
func TestHealthyClientThatAsksForMuchIsServed(t *testing.T) {
	t.Parallel()
	o := narrow(64)
	o.Limits.HoldFrames = 4
	inWorld(t, o, func(t *testing.T, w *world) {
		w.Commit(t, notes(300, 1)...)
		w.Step(t)
		const subscriptions, live = 10, 60
		for i := range subscriptions {
			w.client.Send(req(fmt.Sprint("x", i), 1))
		}
		n, events := 0, 0
		for frames := w.client.Settle(); len(frames) > 0 || n < live; frames = w.client.Settle() {
			for _, verb := range verbs(t, frames) {
				require.NotEqual(t, "CLOSED", verb)
				if verb == "EVENT" {
					events++
				}
			}
			if n < live {
				w.Commit(t, note(1000+n, 1))
				n++
				w.Step(t)
			}
		}
		require.Equal(t, subscriptions*(300+live), events)
		w.settled(subscriptions)
	})
}

// TestReservedRoomReturns runs through every way in which room is reserved.
func TestReservedRoomReturns(t *testing.T) {
	t.Parallel()
	o := strict()
	o.Limits = harness.DefaultLimits()
	o.Limits.Subscriptions = 3
	inWorld(t, o, func(t *testing.T, w *world) {
		msg, _ := publish(t, 1)
		messages := []string{
			req("a", 1), req("b", 1), req("a", 2), req("c", 1), req("d", 1), `["REQ","b",null]`,
			`["COUNT","a",{}]`, `["COUNT","a",{"search":"x"}]`, msg, msg, authMessage(t, w), `{`,
			`["REQ","` + fmt.Sprintf("%065d", 0) + `",{}]`, `["EVENT",{"id":"x"}]`, closing("c"), closing("c"),
		}
		for range 20 {
			for _, m := range messages {
				w.client.Send(m)
			}
			synctest.Wait()
			w.Step(t)
			w.Evict(w.handle("a", note(1, 2)), revoked)
			w.client.Send(closing("a"))
			require.NotEmpty(t, w.client.Settle())
			require.Equal(t, lifecycle.Usage{}, w.client.Conn.Usage())
		}
		w.settled(0)
	})
}
