package group_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access/control"
	"fencepost/relay/access/group"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
)

// fakeStore commits to a store and applies what it says.
type fakeStore struct {
	*world
	store *storetest.Fake
	after store.Position
}

func newFakeStore(t *testing.T) *fakeStore {
	t.Helper()
	return &fakeStore{world: newWorld(t), store: storetest.NewFake(time.Now)}
}

// append commits writes and fails when a row of them cannot be applied: no relay
// would start again.
func (f *fakeStore) append(t *testing.T, writes ...store.Write) (errs []error) {
	t.Helper()
	for i, o := range f.store.Append(t.Context(), writes) {
		if errs = append(errs, o.Err); o.Err == nil {
			f.events[writes[i].Event.ID] = writes[i].Event
		}
	}
	rows, err := f.store.ReadControl(t.Context(), f.after, 1000)
	require.NoError(t, err)
	for _, e := range rows {
		row, err := control.Decode(e.Control.Data)
		require.NoError(t, err)
		_, err = f.book.Apply(e.Position, row, e.Control.Scopes)
		require.NoError(t, err)
		f.after = e.Position
	}
	return errs
}

func (f *fakeStore) must(t *testing.T, author string, kind int, tags ...nostr.Tag) {
	t.Helper()
	require.Equal(t, []error{nil}, f.append(t, f.planned(author, kind, tags...)))
}

// No two requests that are planned at once commit rows of which the second does not
// fit: every request with every other, about a group and its child.
func TestNoTwoWritesPlannedAtOnceAreAPoison(t *testing.T) {
	t.Parallel()
	asks := []asked{{carol, 9, list(h("pizza"))}, {dave, 9, list(h("new"))}}
	for _, id := range []string{"pizza", "food"} {
		at := func(tags ...nostr.Tag) []nostr.Tag { return append([]nostr.Tag{h(id)}, tags...) }
		asks = append(
			asks, asked{alice, 9000, at(p(dave))}, asked{alice, 9000, at(p(carol, "admin"), p(dave, "king"))},
			asked{alice, 9001, at(p(carol), p(bob))}, asked{bob, 9001, at(p(carol))},
			asked{alice, 9002, at(tag("private"), tag("parent"))}, asked{alice, 9002, at(tag("parent", "drinks"))},
			asked{alice, 9007, list(h("new"), tag("parent", id))}, asked{dave, 9007, list(h("new"))},
			asked{alice, 9008, at()}, asked{bob, 9009, at(tag("code", "x"))}, asked{bob, 9010, at(tag("a", "1:x:"))},
			asked{dave, 9021, at()}, asked{carol, 9022, at()}, asked{bob, 9022, at()},
		)
	}
	asks = append(asks, asked{alice, 9008, list(h("drinks"))}, asked{alice, 9002, list(h("drinks"), tag("parent", "pizza"))})
	for i, first := range asks {
		for j, second := range asks {
			f := newFakeStore(t)
			f.now = time.Now()
			f.must(t, alice, 9007, h("food"))
			f.must(t, alice, 9007, h("pizza"), tag("parent", "food"))
			f.must(t, alice, 9007, h("drinks"))
			for _, id := range []string{"food", "pizza"} {
				f.must(t, alice, 9000, h(id), p(bob, "moderator"), p(carol))
			}
			one, two := f.planned(first.author, first.kind, first.tags...), f.planned(second.author, second.kind, second.tags...)
			errs := f.append(t, one, two)
			require.NoError(t, errs[0], "%d %d", i, j)
			if errs[1] != nil {
				require.ErrorIs(t, errs[1], store.ErrMoved)
			}
			requireNoCycle(t, f.world)
		}
	}
}

// The rules may change between any two steps of a decision.
func TestCreationsAroundAReloadAreNoPoison(t *testing.T) {
	t.Parallel()
	f := newFakeStore(t)
	f.now = time.Now()
	var writes []store.Write
	for _, author := range []string{alice, bob} {
		f.change(func(r *group.Rules) { r.Create = group.CreateNone })
		ev := f.event(author, 9007, h("pizza"))
		write := store.Write{Event: ev, Terms: f.book.Terms(ev)}
		f.change(func(r *group.Rules) { r.Create = group.CreateAnyone })
		effect, err := f.book.Plan(context.Background(), nil, ev, false)
		require.NoError(t, err)
		write.Also, write.Controls = effect.Also, effect.Controls
		writes = append(writes, write)
	}
	errs := f.append(t, writes...)
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], store.ErrMoved)
	require.Contains(t, fmt.Sprint(f.answer(bob, "pizza", 9007, 0)), "there is a group")
}
