package handlers_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/handlers"
	"fencepost/lifecycle/fence"
	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// keyOf returns the public key of a secret one.
func keyOf(t *testing.T, secret string) string {
	t.Helper()
	key, err := nostr.GetPublicKey(secret)
	require.NoError(t, err)
	return key
}

// What comes without a connection is judged as an EVENT message is.
func TestWhatIsPublishedIsJudgedLikeAMessage(t *testing.T) {
	t.Parallel()
	forged := sign(t, alice, nostr.Event{Content: "true"}).Event
	forged.Sig = sign(t, bob, nostr.Event{}).Sig
	deleted := sign(t, alice, nostr.Event{Content: "deleted", CreatedAt: now})
	for _, test := range []struct {
		name   string
		event  *wire.Event
		keys   []string
		prefix wire.Prefix
	}{
		{"a note of somebody else", sign(t, bob, nostr.Event{CreatedAt: now}), []string{keyOf(t, alice)}, ""},
		{"a long one", sign(t, alice, nostr.Event{CreatedAt: now, Content: "abcdefghijklm"}), nil, wire.Invalid},
		{"an old one", sign(t, alice, nostr.Event{CreatedAt: now - 3601}), nil, wire.Invalid},
		{"a forged one", wire.NewEvent(forged), nil, wire.Invalid},
		{"a protected one by its author", sign(t, alice, nostr.Event{CreatedAt: now, Tags: nostr.Tags{{"-"}}}), []string{keyOf(t, alice)}, ""},
		{"a protected one by another", sign(t, alice, nostr.Event{CreatedAt: now, Tags: nostr.Tags{{"-"}}}), []string{keyOf(t, bob)}, wire.Restricted},
		{"a deleted one", deleted, []string{keyOf(t, alice)}, wire.Blocked},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := harness.New(t, harness.Options{Handlers: handlers.Limits{Content: 12, CreatedPast: time.Hour}})
				r.Run()
				del := sign(t, alice, nostr.Event{Kind: 5, CreatedAt: now, Tags: nostr.Tags{{"e", deleted.ID}}})
				out, _ := r.Handlers.Publish(t.Context(), nil, del, nil)
				require.Equal(t, store.Outcome{Position: 1, Last: 1}, out)
				out, reason := r.Handlers.Publish(t.Context(), test.keys, test.event, nil)
				require.Equal(t, test.prefix, reason.Prefix)
				require.Equal(t, test.prefix == "", out.Err == nil)
				require.Equal(t, out.Err == nil, out.Position == 2)
			})
		})
	}
}

func TestWhatIsPublishedAgainIsADuplicate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := harness.New(t, harness.Options{Handlers: handlers.Limits{CreatedPast: time.Hour}})
		r.Run()
		var note *wire.Event
		keys := []string{keyOf(t, alice)}
		for _, draft := range []nostr.Event{{Kind: 1}, {Kind: 9007, Tags: nostr.Tags{{"h", "g"}}}} {
			draft.CreatedAt = nostr.Now()
			ev := sign(t, alice, draft)
			if draft.Kind == 1 {
				note = ev
			}
			first, _ := r.Handlers.Publish(t.Context(), keys, ev, nil)
			require.NoError(t, first.Err)
			if ev.Kind == 9007 {
				require.GreaterOrEqual(t, r.Follower.Applied(), first.Last, "what changes permissions is in force")
			}
			for range 2 {
				again, reason := r.Handlers.Publish(t.Context(), keys, ev, nil)
				require.ErrorIs(t, again.Err, store.ErrDuplicate)
				require.Equal(t, first.Position, again.Position)
				require.Equal(t, wire.Duplicate, reason.Prefix)
				pass(2 * time.Hour) // what is too old by now was stored in time
			}
		}
		forged := note.Event
		forged.Sig = sign(t, bob, nostr.Event{}).Sig
		out, _ := r.Handlers.Publish(t.Context(), keys, wire.NewEvent(forged), nil)
		require.NotErrorIs(t, out.Err, store.ErrDuplicate, "whoever cannot sign it learns nothing of it")
	})
}

// A ban that commits between the decision and the commit wins (G4).
func TestARevocationBeforeTheCommitRefusesWhatIsPublished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		control := harness.NewController()
		r := harness.New(t, harness.Options{Control: control})
		r.Run()
		planned := control.Arm(pause.EventPlanned)
		done := make(chan store.Outcome, 1)
		go func() {
			out, _ := r.Handlers.Publish(t.Context(), nil, sign(t, alice, nostr.Event{CreatedAt: now}), nil)
			done <- out
		}()
		synctest.Wait()
		ban, err := r.Policy.BanKey(keyOf(t, alice), "")
		require.NoError(t, err)
		require.NoError(t, r.Store.Append(t.Context(), []store.Write{ban})[0].Err)
		planned.Release()
		out := <-done
		require.Error(t, out.Err)
		require.NotErrorIs(t, out.Err, store.ErrMoved)
		require.Error(t, r.Policy.MayHold(keyOf(t, alice)))
		require.NoError(t, r.Policy.MayHold(keyOf(t, bob)))
	})
}

func TestAFenceGoesWithWhatIsPublished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := harness.New(t, harness.Options{})
		r.Run()
		f := &store.Fence{Stream: fence.Stream{Owner: keyOf(t, alice), Name: "a"}, Token: fence.TokenOf("one")}
		note := sign(t, bob, nostr.Event{CreatedAt: now})
		out, reason := r.Handlers.Publish(t.Context(), []string{keyOf(t, alice)}, note, f)
		var refusal *fence.Error
		require.True(t, errors.As(out.Err, &refusal))
		require.Equal(t, fence.FailedPrecondition, refusal.Code)
		require.NotEmpty(t, reason)
		claim := store.Fence{Stream: f.Stream, Change: &fence.Change{New: f.Token, Active: true, Lease: time.Minute}}
		require.NoError(t, r.Store.Append(t.Context(), []store.Write{{Fence: &claim}})[0].Err)
		out, _ = r.Handlers.Publish(t.Context(), []string{keyOf(t, alice)}, note, f)
		require.Equal(t, store.Outcome{Position: 1, Last: 1, Frame: store.Frame{Epoch: 1, Number: 1}}, out)
	})
}
