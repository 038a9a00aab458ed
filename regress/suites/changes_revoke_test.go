//go:build !nopause

package suites_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// A changes feed against a revocation: G3, G4 and R4. What may be seen is decided when
// the feed asks and again when a frame is taken, whenever its position was issued.

// feedGroup returns a live CHANGES that depends on a group.
func feedGroup(id, group string) string {
	return fmt.Sprintf(`["CHANGES",%q,{"#h":[%q],"live":true,"removed":true}]`, id, group)
}

// feedBroad returns one that asks for all posts.
func feedBroad(id string) string {
	return fmt.Sprintf(`["CHANGES",%q,{"kinds":[9],"live":true,"removed":true}]`, id)
}

func added(id string, at store.Position, ev *wire.Event) string {
	return string(wire.Change{Position: uint64(at), Event: ev}.AppendTo(wire.AppendChangesPrefix(nil, id)))
}

func removed(id string, at store.Position, ev *wire.Event) string {
	return string(wire.Change{Position: uint64(at), Event: ev, Removed: true}.AppendTo(wire.AppendChangesPrefix(nil, id)))
}

// TestAFeedThatWasJudgedBeforeARevocationIsEnded parks the feed and the revocation at
// each of their points.
func TestAFeedThatWasJudgedBeforeARevocationIsEnded(t *testing.T) {
	t.Parallel()
	for _, at := range append([]pause.Point{pause.ReqJudged, pause.ReqDecided}, feedPoints...) {
		for _, rival := range controlPoints {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				joined(t, harness.Options{}, func(t *testing.T, w *world) {
					p := w.Commit(t, post(1, pizza))
					w.Step(t)
					query := w.send(at, feedGroup("x", pizza))
					require.True(t, query.parked())
					w.expel(pizza, secretKey)
					revocation := w.applying(rival)
					query.release()
					got := w.client.Settle()
					if isGone(rival) {
						require.NotContains(t, got, added("x", p, post(1, pizza)))
					}
					revocation.finish(t)
					query.finish(t)
					got = brief(t, append(got, w.client.Settle()...))
					require.NotEmpty(t, got)
					require.Equal(t, "ERR restricted", got[len(got)-1])
					w.Commit(t, post(2, pizza), deletionOf(post(1, pizza)))
					w.Step(t)
					require.Empty(t, w.client.Settle())
					w.quiet(0)
				})
			})
		}
	}
}

// TestAFeedThatIsBroaderThanARevocationStays, and what was about to be queued for it
// is passed over, events and removals alike.
func TestAFeedThatIsBroaderThanARevocationStays(t *testing.T) {
	t.Parallel()
	for _, at := range []pause.Point{pause.ReqStarted, pause.ReqBegun, pause.ReqPage, pause.ReqDecided, pause.ReqReplayed} {
		for _, rival := range controlPoints {
			t.Run(string(at)+" x "+string(rival), func(t *testing.T) {
				t.Parallel()
				joined(t, harness.Options{}, func(t *testing.T, w *world) {
					p := w.Commit(t, post(1, pasta))
					w.Commit(t, post(2, pizza), post(3, pizza), deletionOf(post(3, pizza)))
					w.Step(t)
					query := w.send(at, feedBroad("x"))
					require.True(t, query.parked())
					w.expel(pizza, secretKey)
					w.applying(rival).finish(t)
					query.finish(t)
					got := w.client.Settle()
					require.Contains(t, got, added("x", p, post(1, pasta)))
					require.Len(t, got, 2, "and EOSE")
					w.quiet(1)
				})
			})
		}
	}
}

// TestALiveRemovalIsNotToldAfterARevocation parks the fan-out of the removal row.
func TestALiveRemovalIsNotToldAfterARevocation(t *testing.T) {
	t.Parallel()
	for _, rival := range controlPoints[1:] {
		t.Run(string(rival), func(t *testing.T) {
			t.Parallel()
			joined(t, harness.Options{}, func(t *testing.T, w *world) {
				w.Commit(t, post(1, pizza))
				w.Step(t)
				w.open(feedBroad("x"))
				w.Commit(t, deletionOf(post(1, pizza)))
				w.Step(t) // the removal is queued
				require.Equal(t, 1, w.client.Conn.Usage().Frames)
				w.expel(pizza, secretKey)
				revocation := w.applying(rival)
				require.Empty(t, w.client.Settle())
				revocation.finish(t)
				w.quiet(1)
			})
		})
	}
}

// TestAResumeShowsNothingFromAfterARevocation: the log goes on behind the end of a
// membership, and this relay has not applied that yet.
func TestAResumeShowsNothingFromAfterARevocation(t *testing.T) {
	t.Parallel()
	for _, msg := range []string{feedBroad("x"), `["CHANGES","x",{"kinds":[9],"removed":true}]`} {
		joined(t, harness.Options{}, func(t *testing.T, w *world) {
			w.Commit(t, post(1, pizza))
			w.Step(t)
			w.expel(pizza, secretKey)
			w.Commit(t, post(2, pizza), deletionOf(post(1, pizza)))
			last := w.Commit(t, post(3, pasta))
			w.client.Send(msg)
			require.Empty(t, w.client.Settle(), "until the permissions are those of the log")
			w.Step(t)
			got := w.client.Settle()
			require.Equal(t, added("x", last, post(3, pasta)), got[0])
			require.Len(t, got, 2, "and EOSE")
			w.quiet(w.Index.Len())
		})
	}
}

// TestAFeedIsAboutItsOwnReader: of two with one filter the stranger gets neither the
// event nor its removal.
func TestAFeedIsAboutItsOwnReader(t *testing.T) {
	t.Parallel()
	joined(t, harness.Options{}, func(t *testing.T, w *world) {
		stranger := w.Connect(t)
		stranger.Send(feedBroad("x"))
		stranger.Settle()
		w.open(feedBroad("x"))
		p := w.Commit(t, post(1, pizza))
		w.Step(t)
		w.Commit(t, deletionOf(post(1, pizza)))
		w.Step(t)
		require.Equal(t, []string{added("x", p, post(1, pizza)), removed("x", p+2, post(1, pizza))}, w.client.Settle())
		require.Empty(t, stranger.Settle())
		stranger.Send(`["CHANGES","y",{"kinds":[9],"removed":true}]`)
		require.Len(t, stranger.Settle(), 1, "EOSE alone")
		stranger.Disconnect(t)
		w.quiet(1)
	})
}

// TestWhyAnEventIsGoneDoesNotHideThatItIs: the ban of an id and the request of its
// author to vanish hide the event from everybody, and a feed tells that it is gone.
func TestWhyAnEventIsGoneDoesNotHideThatItIs(t *testing.T) {
	t.Parallel()
	ev := note(1, 1)
	rows := map[string]store.Write{
		"banned": {
			Controls: []store.Control{controlRow(t, control.Row{Type: control.EventBanned, ID: ev.ID}, "relay")},
			Ban:      []string{ev.ID},
		},
		"vanished": {
			Controls: []store.Control{controlRow(t, control.Row{Type: control.KeyVanished, Key: ev.PubKey, Until: 5000}, ev.PubKey)},
		},
	}
	for name, write := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
				w.Commit(t, ev)
				w.Step(t)
				w.open(`["CHANGES","x",{"since":1,"kinds":[1],"live":true,"removed":true}]`)
				w.Write(t, write)
				if name == "vanished" {
					w.Step(t)
					_, err := w.Store.Erase(t.Context(), store.Erasure{Author: ev.PubKey, Until: 5000, Cause: store.CauseVanished}, 10)
					require.NoError(t, err)
				}
				w.Step(t)
				live := w.client.Settle()
				require.Equal(t, 1, count(brief(t, live), "3-"), "%v", live)
				got := w.open(`["CHANGES","y",{"since":1,"kinds":[1],"removed":true}]`)
				require.Equal(t, []string{"3-", "EOSE 3"}, brief(t, got))
			})
		})
	}
}

func controlRow(t *testing.T, row control.Row, scopes ...string) store.Control {
	t.Helper()
	data, err := control.Encode(row)
	require.NoError(t, err)
	return store.Control{Scopes: scopes, Data: data}
}

// TestAPrivateMessageThatIsGoneIsToldToItsParties: a gift wrap is nobody else's, and
// neither is that it was deleted.
func TestAPrivateMessageThatIsGoneIsToldToItsParties(t *testing.T) {
	t.Parallel()
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		reader, stranger := publicKey(t, secretKey), w.Connect(t)
		wrap := storetest.Draft{Key: 1, At: 1000, Kind: 1059, Tags: nostr.Tags{{"p", reader}}}.Event()
		w.client.Auth(t, secretKey)
		msg := `["CHANGES","x",{"live":true,"removed":true}]`
		stranger.Send(msg)
		w.open(msg)
		p := w.Commit(t, wrap)
		w.Step(t)
		w.Commit(t, deletionOf(wrap))
		w.Step(t)
		got := slices.DeleteFunc(w.client.Settle(), func(f string) bool { return f != added("x", p, wrap) && f != removed("x", p+2, wrap) })
		require.Equal(t, []string{added("x", p, wrap), removed("x", p+2, wrap)}, got)
		for _, f := range stranger.Settle() {
			require.NotContains(t, []string{added("x", p, wrap), removed("x", p+2, wrap)}, f)
		}
	})
}
