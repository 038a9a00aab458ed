package access_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/access/group"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

func numbered(i int) string { return fmt.Sprintf("%064x", i) }

// withBook is a relay with one private group of that many members.
func withBook(b testing.TB, size int) *world {
	book, err := group.New(group.Options{
		Self: self, Sign: options().Sign, Now: options().Now, Rules: group.Rules{Create: group.CreateAnyone},
		Find:     func(context.Context, string) (*wire.Event, bool, error) { return nil, false, nil },
		Prefixed: func(context.Context, string) ([]*wire.Event, error) { return nil, nil },
	})
	require.NoError(b, err)
	x := newWorld(access.Rules{}, withGroups(book))
	if size == 0 {
		return x
	}
	x.put(b, control.Row{
		Type: control.GroupCreated, Group: "pizza", Key: alice, Stamp: 1, Tags: nostr.Tags{{"private"}},
	}, "g:pizza")
	for i := range size {
		x.put(b, control.Row{Type: control.GroupPut, Group: "pizza", Key: numbered(i), Stamp: 2})
	}
	return x
}

// One event and the candidates of its fan-out: what is asked once an event, and
// what once a candidate.
func BenchmarkFanout(b *testing.B) {
	note := event(alice, 1, nostr.Tag{"p", bob}, nostr.Tag{"e", numbered(1)})
	for _, bench := range []struct {
		name  string
		world func(b *testing.B) *world
		ev    *wire.Event
	}{
		{"open relay", func(b *testing.B) *world { return withBook(b, 0) }, note},
		{"open note beside a group of 10000", func(b *testing.B) *world { return withBook(b, 10_000) }, note},
		{"note in a private group of 10000", func(b *testing.B) *world { return withBook(b, 10_000) }, event(alice, 9, nostr.Tag{"h", "pizza"})},
		{"direct message", func(b *testing.B) *world { return withBook(b, 0) }, event(alice, 4, nostr.Tag{"p", numbered(5)})},
		{"relay of 10000 members", membersRelay, note},
	} {
		x := bench.world(b)
		held := keys(numbered(5))
		b.Run(bench.name+"/event", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = x.Sight(bench.ev)
			}
		})
		b.Run(bench.name+"/candidate", func(b *testing.B) {
			b.ReportAllocs()
			s := x.Sight(bench.ev)
			for b.Loop() {
				if s.May != nil && !s.May(held) || !s.Grant.Holds() {
					b.Fatal("the reader may see it")
				}
			}
		})
	}
}

func membersRelay(b *testing.B) *world {
	x := newWorld(access.Rules{Members: access.MembersAll})
	for i := range 10_000 {
		x.put(b, control.Row{Type: control.MemberPut, Key: numbered(i)})
	}
	return x
}

// A revocation in a group of 10,000 with 2,000 connections of members.
func BenchmarkCut(b *testing.B) {
	s := newScene(withBook(b, 10_000))
	for i := range 2_000 {
		c := s.connect(b, numbered(i))
		s.subscribe(b, c, "group", inGroup("pizza"))
		s.subscribe(b, c, "broad", nostr.Filter{Kinds: []int{1, 9}})
	}
	for _, bench := range []struct {
		name string
		row  func(i int) control.Row
	}{
		{"one member", func(i int) control.Row {
			return control.Row{Type: control.GroupRemoved, Group: "pizza", Key: numbered(9_999 - i%5_000), Stamp: 3}
		}},
		{"everybody", func(int) control.Row {
			return control.Row{Type: control.KindsDisallowed, Kinds: []int{7}}
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				data := must(control.Encode(bench.row(i)))
				rows := must(s.commit(store.Write{Controls: []store.Control{{Scopes: keys("g:pizza"), Data: data}}}))
				require.NoError(b, s.Cutter.Apply(context.Background(), &rows[0]))
			}
		})
	}
}

// A change in one group beside 4,000 subscriptions of 32 filters that ask for other
// groups.
func BenchmarkCutElsewhere(b *testing.B) {
	s := newScene(withBook(b, 1))
	s.put(b, control.Row{Type: control.GroupCreated, Group: "elsewhere", Key: alice, Stamp: 1}, "g:elsewhere")
	var list []nostr.Filter
	var ids []string
	for i := range 10 {
		ids = append(ids, fmt.Sprint("other", i))
		s.put(b, control.Row{
			Type: control.GroupCreated, Group: ids[i], Key: alice, Stamp: 1, Tags: nostr.Tags{{"private"}},
		}, "g:"+ids[i])
	}
	for i := range 31 {
		since := nostr.Timestamp(i)
		list = append(list, nostr.Filter{Since: &since, Tags: nostr.TagMap{"h": ids}})
	}
	list = append(list, kinds(1))
	for range 200 {
		c := s.connect(b)
		for i := range 20 {
			s.subscribe(b, c, fmt.Sprint(i), list...)
		}
	}
	for i := 0; b.Loop(); i++ {
		tags := nostr.Tags{{"name", "x"}, {"private"}}[:1+i%2]
		data := must(control.Encode(control.Row{Type: control.GroupEdited, Group: "elsewhere", Tags: tags, Stamp: 2}))
		rows := must(s.commit(store.Write{Controls: []store.Control{{Scopes: keys("g:elsewhere"), Data: data}}}))
		require.NoError(b, s.Cutter.Apply(context.Background(), &rows[0]))
	}
}
