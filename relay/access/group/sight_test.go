package group_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/lifecycle"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

func TestWhoSeesWhat(t *testing.T) {
	t.Parallel()
	const (
		everybody = "everybody"
		members   = "members"
		staff     = "author, admins and moderators"
		nobody    = "nobody"
	)
	of := func(kind int, tags ...nostr.Tag) func(*world) *wire.Event {
		return func(w *world) *wire.Event { return w.event(carol, kind, append([]nostr.Tag{h("pizza")}, tags...)...) }
	}
	state := func(kind int, tags ...nostr.Tag) func(*world) *wire.Event {
		return func(w *world) *wire.Event {
			return w.event(self, kind, append([]nostr.Tag{tag("d", "pizza")}, tags...)...)
		}
	}
	for _, c := range []struct {
		name                            string
		event                           func(*world) *wire.Event
		public, private, hidden, secret string // secret: hidden and private
	}{
		{"message", of(9), everybody, members, everybody, members},
		{"message with a second tag", of(9, h("pizza"), tag("p", dave)), everybody, members, everybody, members},
		{"put", of(9000), everybody, members, everybody, members},
		{"edit", of(9002, tag("name", "x")), everybody, members, members, members},
		{"edit that turns it private", of(9002, tag("private")), members, members, members, members},
		{"edit that turns it hidden", of(9002, tag("hidden")), members, members, members, members},
		{"creation", of(9007), everybody, members, members, members},
		{"metadata that turn it hidden", state(39000, tag("hidden")), members, members, members, members},
		{"metadata that turn it private", state(39000, tag("private")), everybody, everybody, members, members},
		{"leave", of(9022), everybody, members, everybody, members},
		{"invitation", of(9009), staff, staff, staff, staff},
		{"join", of(9021), staff, staff, staff, staff},
		{"metadata", state(39000), everybody, everybody, members, members},
		{"admins", state(39001), everybody, everybody, members, members},
		{"members", state(39002), everybody, members, members, members},
		{"roles", state(39003), everybody, everybody, members, members},
		{"participants", state(39004), everybody, members, members, members},
		{"pins", state(39005), everybody, members, members, members},
	} {
		for name, g := range map[string]struct {
			want string
			tags []nostr.Tag
		}{
			"public":  {c.public, nil},
			"private": {c.private, list(tag("private"))},
			"hidden":  {c.hidden, list(tag("hidden"))},
			"secret":  {c.secret, list(tag("private"), tag("hidden"))},
			"deleted": {nobody, nil},
		} {
			t.Run(c.name+", "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.create("pizza", g.tags...)
				w.do(alice, 9000, h("pizza"), p(dave, "king"))
				ev := c.event(w)
				if name == "deleted" {
					deleted(w)
				}
				for reader, who := range map[string]string{
					"": everybody, outsider: everybody, boss: everybody, self: everybody,
					dave: members, carol: staff, bob: staff, alice: staff,
				} {
					want := g.want == everybody || g.want == members && who != everybody || g.want == staff && who == staff
					var keys []string
					if reader != "" {
						keys = []string{outsider, reader}
					}
					require.Equal(t, want, w.sees(ev, keys...), "%s %s", who, reader)
				}
			})
		}
	}
}

func TestAuthorsWhoAreNoMembersSeeTheirJoinOnlyInAGroupThatAllRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	joined := w.do(dave, 9021, h("pizza"))
	w.do(dave, 9022, h("pizza"))
	require.True(t, w.sees(joined, dave))
	w.do(alice, 9002, h("pizza"), tag("private"))
	require.False(t, w.sees(joined, dave))
}

func TestAnEventOfSeveralGroupsIsSeenByThoseWhoSeeAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ev := w.do(dave, 1, h("pizza"), h("pasta"), h("soup"), h("a b"))
	require.True(t, w.sees(ev))
	w.create("pizza", tag("private"))
	w.do(dave, 9007, h("pasta"), tag("private"))
	require.False(t, w.sees(ev, alice))
	require.False(t, w.sees(ev, dave))
	require.True(t, w.sees(ev, dave, alice))
	w.do(dave, 9000, h("pasta"), p(alice))
	require.True(t, w.sees(ev, alice))
	w.do(dave, 9008, h("pasta"))
	require.False(t, w.sees(ev, dave, alice))
}

func TestManyHTagsAreAllLookedAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("99", tag("private"))
	tags := many("h", 100, func(i int) string { return fmt.Sprint(i) })
	ev := w.event(dave, 1, append(tags, tags...)...)
	require.False(t, w.sees(ev, dave))
	require.True(t, w.sees(ev, carol))
}

// A creation stands in the log before its row, and what the relay says about it
// behind that row.
func TestTheCreationOfAHiddenGroupIsToldToNobody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tags []nostr.Tag
		told []bool // 9007, 9000, 39000, 39001, 39003: before there is the group
	}{
		{nil, []bool{true, false, false, false, false}},
		{list(tag("private")), []bool{false, false, false, false, false}},
		{list(tag("hidden")), []bool{false, false, false, false, false}},
		{list(tag("private"), tag("hidden")), []bool{false, false, false, false, false}},
	} {
		w := newWorld(t)
		write := w.planned(alice, 9007, append([]nostr.Tag{h("pizza")}, c.tags...)...)
		events := append([]*wire.Event{write.Event}, write.Also...)
		var grants []*lifecycle.Grant
		for i, ev := range events {
			require.Equal(t, c.told[i], w.sees(ev, dave), "%d %v", ev.Kind, c.tags)
			grants = append(grants, w.grant(ev))
		}
		require.True(t, w.sees(write.Event, alice))
		require.NoError(t, w.commit(write))
		for i, ev := range events {
			require.False(t, grants[i].Holds())
			require.True(t, w.sees(ev, alice))
		}
	}
}

func TestStateOfAnotherKeyIsNotTheRelays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza", tag("hidden"), tag("private"))
	require.True(t, w.sees(w.event(dave, 39000, tag("d", "pizza"))))
	require.True(t, w.sees(w.event(self, 30023, tag("d", "pizza"))))
	require.False(t, w.sees(w.event(self, 39000, tag("d", "pasta"))), "there is no such group")
	require.True(t, w.sees(w.event(self, 39000)))
}

// grant is what package access does with the scopes of an event.
func (w *world) grant(ev *wire.Event) *lifecycle.Grant {
	scopes, _ := w.book.Sight(ev)
	return lifecycle.NewGrant(scopes...)
}

// Grants end with what takes away or makes a rule, and with nothing else.
func TestWhatEndsAGrant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		author string
		kind   int
		tags   []nostr.Tag
		ends   bool
	}{
		{"message", carol, 9, nil, false},
		{"join", dave, 9021, list(tag("code", "x")), false},
		{"new member", alice, 9000, list(p(dave)), false},
		{"invitation", bob, 9009, list(tag("code", "y")), false},
		{"role", alice, 9000, list(p(carol, "moderator")), true},
		{"demotion", alice, 9000, list(p(bob)), true},
		{"new member with a role", alice, 9000, list(p(dave, "king")), true},
		{"removal", bob, 9001, list(p(carol)), true},
		{"leave", carol, 9022, nil, true},
		{"edit", alice, 9002, list(tag("private")), true},
		{"pins", bob, 9010, list(tag("a", "1:x:")), true},
		{"deletion", alice, 9008, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pizza")
			w.create("pasta")
			w.do(bob, 9009, h("pizza"), tag("code", "x"))
			grants := []*lifecycle.Grant{
				w.grant(w.event(carol, 9, h("pizza"))),
				w.grant(w.event(self, 39000, tag("d", "pizza"))),
				w.grant(w.event(carol, 9, h("pizza"), h("soup"))),
			}
			others := []*lifecycle.Grant{w.grant(w.event(carol, 9, h("pasta"))), w.grant(w.event(carol, 1))}
			w.do(c.author, c.kind, append([]nostr.Tag{h("pizza")}, c.tags...)...)
			for _, g := range grants {
				require.Equal(t, !c.ends, g.Holds())
			}
			for _, g := range others {
				require.True(t, g.Holds())
			}
		})
	}
}

// A frame that was queued before there was the group must be decided again.
func TestGroupThatComesLaterEndsGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ev := w.do(dave, 1, h("pizza"))
	scopes, may := w.book.Sight(ev)
	first := lifecycle.NewGrant(scopes...)
	require.True(t, may(nil))
	w.do(alice, 9007, h("pizza"))
	require.False(t, first.Holds())

	// Sight was asked before the group came, the state afterwards: what becomes of
	// the group then has to end the grant as well.
	second := lifecycle.NewGrant(scopes...)
	require.True(t, may(nil))
	w.do(alice, 9002, h("pizza"), tag("private"))
	require.False(t, second.Holds())
	require.False(t, may(nil))
}

// The state changes before the scopes move: whoever sees the new epoch sees the
// new state.
func TestStateChangesBeforeTheScopeMoves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza", tag("private"))
	scopes, may := w.book.Sight(w.event(carol, 9, h("pizza")))
	const rounds, first = 500, 1000
	begin, done := make(chan store.Position), make(chan struct{})

	var reader errgroup.Group
	reader.Go(func() error {
		old := 0
		for at := range begin {
			for scopes[0].Epoch() != at {
				runtime.Gosched()
			}
			if may([]string{carol}) {
				old++
			}
			done <- struct{}{}
		}
		if old > 0 {
			return fmt.Errorf("%d decisions from the old state under a new epoch", old)
		}
		return nil
	})
	for at := store.Position(first); at < first+rounds; at++ {
		row := control.Row{Type: control.GroupPut, Group: "pizza", Key: carol, Stamp: 1}
		_, err := w.book.Apply(at, row, nil)
		require.NoError(t, err)
		row.Type = control.GroupRemoved
		begin <- at
		_, err = w.book.Apply(at, row, []string{"g:pizza"})
		require.NoError(t, err)
		<-done
	}
	close(begin)
	require.NoError(t, reader.Wait())
}

func TestTheBookIsReadWhileItChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza", tag("private"))
	ev := w.event(carol, 9, h("pizza"), h("soup"))
	request := w.event(alice, 9002, h("pizza"), tag("parent", "g7"))
	filter := []*wire.Filter{wire.NewFilter(nostr.Filter{Tags: nostr.TagMap{"h": {"pizza"}}})}
	var group errgroup.Group
	stop := make(chan struct{})
	for range 3 {
		group.Go(func() error {
			for {
				select {
				case <-stop:
					return nil
				default:
				}
				_, may := w.book.Sight(ev)
				may([]string{dave})
				w.book.Terms(request)
				_, _ = w.book.Plan(t.Context(), nil, request, false) // refusals come and go
				_ = w.book.MayRead(nil, filter)
			}
		})
	}
	at := store.Position(1000)
	for i := range 300 {
		key, id := keys[i%len(keys)], fmt.Sprint("g", i)
		for _, row := range []control.Row{
			{Type: control.GroupPut, Group: "pizza", Key: key, Roles: []string{"moderator"}, Stamp: 1},
			{Type: control.GroupCreated, Group: id, Key: key, Stamp: 1},
			{Type: control.GroupEdited, Group: id, Tags: nostr.Tags{{"parent", "pizza"}}, Stamp: 1},
			{Type: control.GroupDeleted, Group: id},
			{Type: control.GroupRemoved, Group: "pizza", Key: key, Stamp: 1},
		} {
			at++
			_, err := w.book.Apply(at, row, []string{"g:" + row.Group})
			require.NoError(t, err)
		}
	}
	close(stop)
	require.NoError(t, group.Wait())
}
