package access_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var members = access.Rules{Members: access.MembersWrite, Operator: boss, URLs: []string{"wss://Relay.Test:443/"}}

func join(key, code string) *wire.Event {
	return event(key, 28934, nostr.Tag{"-"}, nostr.Tag{"claim", code})
}

func leave(key string) *wire.Event { return event(key, 28936, nostr.Tag{"-"}) }

// claim makes a code and puts it in force.
func (x *world) claim(t *testing.T, uses int, expires time.Time) string {
	code, w, err := x.CreateClaim(uses, expires)
	x.do(t, w, err)
	return code
}

func TestAnInviteCodeMakesAMember(t *testing.T) {
	t.Parallel()
	x := newWorld(members)
	code := x.claim(t, 0, time.Time{})
	w, err := x.Plan(t.Context(), keys(alice), join(alice, code))
	requireAccepted(t, wire.Info, err)
	require.Contains(t, err.Error(), "wss://relay.test")
	require.Nil(t, w.Event, "a request carries a code: it is neither stored nor passed on")
	require.Len(t, w.Also, 1, "the list of members follows by itself")
	added := w.Also[0]
	require.NoError(t, added.Verify())
	require.Equal(t, self, added.PubKey)
	require.Equal(t, 8000, added.Kind)
	require.Equal(t, nostr.Tags{{"-"}, {"p", alice}}, added.Tags)
	row := rowsOf(t, w)[0]
	require.Equal(t, control.Row{Version: control.Version, Type: control.MemberPut, Key: alice, Claim: code}, row)
	require.Equal(t, keys(alice), w.Controls[0].Scopes, "a code without a bound is not used up")

	requireReason(t, wire.Restricted, x.MaySubmit(keys(alice), event(alice, 1)), "not before the row is applied")
	x.do(t, w, err)
	requireReason(t, "", x.MaySubmit(keys(alice), event(alice, 1)))
	w, err = x.Plan(t.Context(), keys(alice), join(alice, "whatever"))
	requireAccepted(t, wire.Duplicate, err)
	require.Zero(t, w)
}

func TestJoinIsRefused(t *testing.T) {
	t.Parallel()
	x := newWorld(members)
	once, late, gone := x.claim(t, 1, time.Time{}), x.claim(t, 0, now.Add(time.Hour)), x.claim(t, 0, time.Time{})
	x.do(t, must2(x.RemoveClaim(gone)), nil)
	x.do(t, must2(x.BanKey(carol, "")), nil)
	w, err := x.Plan(t.Context(), keys(bob), join(bob, once))
	x.do(t, w, err)
	require.Equal(t, keys(bob, "claim:0:"+once), w.Controls[0].Scopes)
	for name, test := range map[string]struct {
		keys  []string
		ev    *wire.Event
		later time.Duration
		want  wire.Prefix
		says  string
	}{
		"without a code":        {keys(alice), event(alice, 28934, nostr.Tag{"-"}), 0, wire.Restricted, "needed"},
		"with a wrong code":     {keys(alice), join(alice, "wrong"), 0, wire.Restricted, "invalid invite code"},
		"with a removed code":   {keys(alice), join(alice, gone), 0, wire.Restricted, "invalid invite code"},
		"with an expired code":  {keys(alice), at(join(alice, late), now.Unix()+3600), time.Hour, wire.Restricted, "that invite code is expired"},
		"with a used code":      {keys(alice), join(alice, once), 0, wire.Restricted, "used up"},
		"without a hyphen":      {keys(alice), event(alice, 28934, nostr.Tag{"claim", late}), 0, wire.Invalid, `["-"]`},
		"by somebody else":      {keys(bob), join(alice, late), 0, wire.Restricted, "author"},
		"without a key":         {nil, join(alice, late), 0, wire.AuthRequired, "author"},
		"by a banned key":       {keys(carol), join(carol, late), 0, wire.Blocked, "banned"},
		"from long ago":         {keys(alice), at(join(alice, late), now.Unix()-601), 0, wire.Invalid, "created_at"},
		"from the future":       {keys(alice), at(join(alice, late), now.Unix()+601), 0, wire.Invalid, "created_at"},
		"just within the time":  {keys(alice), at(join(alice, late), now.Unix()-600), 0, "", ""},
		"a moment before it is": {keys(alice), at(join(alice, late), now.Unix()+3599), 3599 * time.Second, "", ""},
	} {
		clock := now.Add(test.later)
		y := newWorld(members, func(o *access.Options) { o.Now = func() time.Time { return clock } })
		for i := range x.rows {
			_, err := y.Apply(&x.rows[i])
			require.NoError(t, err)
		}
		w, err := y.Plan(t.Context(), test.keys, test.ev)
		if test.want == "" {
			requireAccepted(t, wire.Info, err)
			continue
		}
		requireReason(t, test.want, err, name)
		require.ErrorContains(t, err, test.says, name)
		require.Zero(t, w, name)
	}
}

func TestACodeThatIsUsedUpWhileSomebodyJoinsDoesNotAdmitBoth(t *testing.T) {
	t.Parallel()
	x := newWorld(members)
	code := x.claim(t, 1, time.Time{})
	first, err := x.Plan(t.Context(), keys(alice), join(alice, code))
	requireAccepted(t, wire.Info, err)
	second, err := x.Plan(t.Context(), keys(bob), join(bob, code))
	requireAccepted(t, wire.Info, err)
	x.do(t, second, nil)
	_, err = x.commit(first)
	require.ErrorIs(t, err, store.ErrMoved)
	_, err = x.Plan(t.Context(), keys(alice), join(alice, code))
	requireReason(t, wire.Restricted, err)
	require.Equal(t, keys(bob), x.AllowedKeys())
}

// However many join in one commit, with whatever code, none hinders another while
// there are uses for all.
func TestJoinsDoNotHinderEachOther(t *testing.T) {
	t.Parallel()
	for _, uses := range []int{0, 1_000_000} {
		x := newWorld(members)
		code := x.claim(t, uses, time.Time{})
		var plans []store.Write
		for i := range 20 {
			w, err := x.Plan(t.Context(), keys(numbered(i)), join(numbered(i), code))
			requireAccepted(t, wire.Info, err)
			plans = append(plans, w)
		}
		moved := 0
		for _, w := range plans {
			if _, err := x.commit(w); err != nil {
				moved++
			}
		}
		require.LessOrEqual(t, moved, 1, uses) // of so many slots two are hardly ever the same
	}
}

// Uses are taken once each, whoever joins at the same time.
func TestACodeAdmitsAsManyAsItHasUses(t *testing.T) {
	t.Parallel()
	for _, uses := range []int{1, 2, 5, 40} {
		x := newWorld(members)
		code := x.claim(t, uses, time.Time{})
		rounds := 0
		for waiting := uses + 5; waiting > 5; rounds++ {
			var plans []store.Write
			for i := range waiting {
				key := numbered(100*rounds + i)
				w, err := x.Plan(t.Context(), keys(key), join(key, code))
				requireAccepted(t, wire.Info, err)
				plans = append(plans, w)
			}
			var rows []store.Entry
			for _, w := range plans {
				if more, err := x.commit(w); err == nil {
					rows, waiting = append(rows, more...), waiting-1
				}
			}
			for i := range rows {
				_, err := x.Apply(&rows[i])
				require.NoError(t, err)
			}
		}
		require.Len(t, x.AllowedKeys(), uses)
		_, err := x.Plan(t.Context(), keys(alice), join(alice, code))
		requireReason(t, wire.Restricted, err)
		require.Equal(t, uses, x.Claims()[0].Used)
	}
}

func TestAUseThatWasTakenIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	x := newWorld(members)
	code := x.claim(t, 40, time.Time{})
	for i := range 40 {
		w, err := x.Plan(t.Context(), keys(numbered(i)), join(numbered(i), code))
		requireAccepted(t, wire.Info, err)
		x.do(t, w, nil)
	}
}

func TestAJoinWithACodeThatIsRemovedMeanwhileIsDecidedAnew(t *testing.T) {
	t.Parallel()
	x := newWorld(members)
	code := x.claim(t, 0, time.Time{})
	w, err := x.Plan(t.Context(), keys(alice), join(alice, code))
	requireAccepted(t, wire.Info, err)
	x.do(t, must2(x.RemoveClaim(code)), nil)
	_, err = x.commit(w)
	require.ErrorIs(t, err, store.ErrMoved)
}

func TestMembersLeave(t *testing.T) {
	t.Parallel()
	x := newWorld(members)
	x.member(t, alice, bob)
	w, err := x.Plan(t.Context(), keys(alice), leave(alice))
	require.NoError(t, err)
	require.Nil(t, w.Event)
	require.Equal(t, 8001, w.Also[0].Kind)
	require.Equal(t, keys(alice), w.Controls[0].Scopes)
	change := x.do(t, w, err)[0]
	require.Equal(t, keys(alice), change.Keys)
	require.False(t, change.Ban)
	requireReason(t, wire.Restricted, x.MaySubmit(keys(alice), event(alice, 1)))

	_, err = x.Plan(t.Context(), keys(alice), leave(alice))
	requireAccepted(t, wire.Duplicate, err)
	_, err = x.Plan(t.Context(), keys(bob), event(bob, 28936))
	requireReason(t, wire.Invalid, err)
}

func TestAFailingSignerFailsThePlan(t *testing.T) {
	t.Parallel()
	broken := errors.New("no key")
	x := newWorld(members, func(o *access.Options) { o.Sign = func(*nostr.Event) error { return broken } })
	code := x.claim(t, 0, time.Time{})
	w, err := x.Plan(t.Context(), keys(alice), join(alice, code))
	require.ErrorIs(t, err, broken)
	require.Zero(t, w)
}

func TestARequestToVanishErasesAndEndsTheMembership(t *testing.T) {
	t.Parallel()
	x := newWorld(members)
	x.member(t, alice, bob)
	ask := event(alice, 62, nostr.Tag{"relay", "https://RELAY.test/"})
	w, err := x.Plan(t.Context(), nil, ask)
	require.NoError(t, err)
	require.Same(t, ask, w.Event)
	require.Equal(t, &store.Erasure{Author: alice, Until: now.Unix(), Cause: store.CauseVanished}, w.Erase)
	require.Empty(t, w.Also, "no event that names the key")
	require.Equal(t, keys(alice), w.Controls[0].Scopes)
	x.do(t, w, err)
	require.Equal(t, keys(bob), x.AllowedKeys())
	require.False(t, sees(t, x.Policy, event(alice, 1), alice, boss), "until it is erased")
	require.True(t, sees(t, x.Policy, at(event(alice, 1), now.Unix()+1)))
	require.True(t, sees(t, x.Policy, ask))
}

func TestARequestToVanishIsObeyedWhoeverAsks(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{Require: access.RequireAll, Members: access.MembersAll})
	x.do(t, must2(x.BanKey(carol, "")), nil)
	w, err := x.Plan(t.Context(), nil, event(carol, 62, nostr.Tag{"relay", "ALL_RELAYS"}))
	require.NoError(t, err)
	require.NotNil(t, w.Erase)
	require.Empty(t, w.Also)
	require.Empty(t, w.Terms, "nothing was decided about")
	require.Equal(t, keys(carol), w.Controls[0].Scopes)
	x.do(t, w, err)
	requireReason(t, wire.Blocked, x.MaySubmit(keys(carol), event(carol, 1)), "and stays banned")

	_, err = x.Plan(t.Context(), nil, at(event(bob, 62, nostr.Tag{"relay", "ALL_RELAYS"}), 0))
	requireReason(t, wire.Invalid, err)
}

// A flood of requests is a flood of events, not of changes.
func TestARequestToVanishThatIsNotNewerChangesNothing(t *testing.T) {
	t.Parallel()
	x := newWorld(access.Rules{})
	ask := func(createdAt int64) store.Write {
		w, err := x.Plan(t.Context(), nil, at(event(alice, 62, nostr.Tag{"relay", "ALL_RELAYS"}), createdAt))
		require.NoError(t, err)
		require.NotNil(t, w.Event)
		return w
	}
	x.do(t, ask(now.Unix()), nil)
	for _, createdAt := range []int64{now.Unix(), now.Unix() - 1} {
		require.Empty(t, ask(createdAt).Controls)
		require.Nil(t, ask(createdAt).Erase)
	}
	require.Len(t, ask(now.Unix()+1).Controls, 1)
}

func TestARequestToVanishElsewhereIsAnEventLikeAnother(t *testing.T) {
	t.Parallel()
	elsewhere := event(alice, 62, nostr.Tag{"relay", "wss://other.test"})
	x := newWorld(access.Rules{URLs: []string{"wss://relay.test"}})
	w, err := x.Plan(t.Context(), nil, elsewhere)
	require.NoError(t, err)
	require.Same(t, elsewhere, w.Event)
	require.Nil(t, w.Erase)
	require.Empty(t, w.Controls)

	nameless := newWorld(access.Rules{})
	_, err = nameless.Plan(t.Context(), nil, elsewhere)
	requireReason(t, wire.Unsupported, err, "an OK would be a lie if this is the relay that is meant")
}
