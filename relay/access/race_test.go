package access_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/lifecycle"
	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Readers decide while rows are applied. What is true all the time stays so, and a
// yes that is given under a grant which still holds was not given to somebody who
// had been removed before.
func TestDecisionsDuringChangesAreOfOneStateOrTheOther(t *testing.T) {
	t.Parallel()
	const rounds = 300
	x := newWorld(access.Rules{Members: access.MembersAll}, withGroups(newFakeGroups()))
	x.member(t, alice, bob)
	note, secret := event(alice, 1), event(alice, 9, nostr.Tag{"h", "pizza"})
	x.put(t, control.Row{Type: control.GroupCreated, Group: "pizza", Key: alice, Stamp: 1}, "g:pizza")
	var removed atomic.Int64 // odd while bob is out of both, by rows that are applied
	g, ctx := errgroup.WithContext(t.Context())
	for range 4 {
		g.Go(func() error { return watch(ctx, x, &removed, note, secret) })
	}
	g.Go(func() error {
		for range rounds {
			x.put(t, control.Row{Type: control.MemberRemoved, Key: bob}, bob)
			x.put(t, control.Row{Type: control.GroupRemoved, Group: "pizza", Key: bob, Stamp: 2}, "g:pizza")
			removed.Add(1)
			for range 50 {
				x.Sight(note)
			}
			removed.Add(1)
			x.put(t, control.Row{Type: control.GroupPut, Group: "pizza", Key: bob, Stamp: 3})
			x.put(t, control.Row{Type: control.MemberPut, Key: bob})
			x.SetRules(access.Rules{Members: access.MembersAll})
		}
		return context.Canceled
	})
	require.ErrorIs(t, g.Wait(), context.Canceled)
}

func watch(ctx context.Context, x *world, removed *atomic.Int64, events ...*wire.Event) error {
	for ctx.Err() == nil {
		for _, ev := range events {
			s := x.Sight(ev)
			before := removed.Load()
			may := s.May(keys(bob))
			out := before%2 == 1 && removed.Load() == before
			if !s.May(keys(alice)) || out && may && s.Grant.Holds() {
				return wire.Because(wire.Failed, "a wrong decision")
			}
		}
		if _, err := x.Plan(ctx, keys(alice), events[0]); err != nil {
			return err
		}
		if err := x.MayRead(keys(alice), filters(inGroup("pizza"))); err != nil {
			return err
		}
		visible, _ := x.Visible(ctx, keys(alice), filters(nostr.Filter{}))
		if !visible(events[1]) {
			return wire.Because(wire.Failed, "the author sees it all the time")
		}
	}
	return nil
}

// Many connections authenticate with a key while it is banned.
func TestNoConnectionOutlivesABan(t *testing.T) {
	t.Parallel()
	s := newScene(newWorld(access.Rules{}))
	for range 50 {
		s.connect(t)
	}
	data := must(control.Encode(control.Row{Type: control.KeyBanned, Key: carol}))
	rows := must(s.commit(store.Write{Controls: []store.Control{{Scopes: keys(carol), Data: data}}}))
	var g errgroup.Group
	for _, c := range s.conns {
		g.Go(func() error {
			c.AddKey(carol)
			if err := s.MayAuthenticate(carol); err != nil {
				c.Close(lifecycle.Cause{Code: 1008, Text: err.Error()})
			}
			return nil
		})
	}
	g.Go(func() error { return s.Cutter.Apply(context.Background(), &rows[0]) })
	require.NoError(t, g.Wait())
	for _, c := range s.conns {
		require.Equal(t, 1008, c.Cause().Code)
	}
}
