package group_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access/group"
	"fencepost/relay/wire"
)

// attics are worlds whose hidden group pizza has these properties.
func attics(t *testing.T, check func(t *testing.T, w *world, said *wire.Event)) {
	t.Helper()
	for name, tags := range map[string][]nostr.Tag{
		"plain":        nil,
		"private":      list(tag("private")),
		"closed":       list(tag("closed")),
		"restricted":   list(tag("restricted")),
		"few kinds":    list(tag("supported_kinds", "11")),
		"all at once":  list(tag("private"), tag("closed"), tag("restricted"), tag("supported_kinds")),
		"gone":         nil,
		"gone private": list(tag("private"), tag("closed")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pizza", append(tags, tag("hidden"))...)
			said := w.event(carol, 11, h("pizza"))
			w.events[said.ID] = said
			if name == "gone" || name == "gone private" {
				deleted(w)
			}
			check(t, w, said)
		})
	}
}

// answer returns how an event of that age would be answered.
func (w *world) answer(author, id string, kind int, age time.Duration, tags ...nostr.Tag) string {
	ev := w.event(author, kind, append([]nostr.Tag{h(id)}, tags...)...)
	raw := ev.Event
	raw.CreatedAt -= nostr.Timestamp(age / time.Second)
	_, err := w.plan(wire.NewEvent(raw))
	return fmt.Sprint(err)
}

// To whom a hidden group is none, every request about it is answered as about none.
func TestRequestsCannotTellAHiddenGroupFromNone(t *testing.T) {
	t.Parallel()
	attics(t, func(t *testing.T, w *world, said *wire.Event) {
		t.Helper()
		w.do(alice, 9007, h("open"))
		for kind := 9000; kind <= 9022; kind++ {
			if kind == 9007 {
				continue
			}
			for name, tags := range map[string][]nostr.Tag{
				"plain": nil, "complete": list(p(dave), tag("name", "x"), tag("e", said.ID), tag("code", "x")),
				"reference": list(tag("previous", said.ID[:8])), "no reference": list(tag("previous", "00000000")), "bad": list(tag("previous", "x")),
			} {
				for _, age := range []time.Duration{0, 2 * time.Hour} {
					got, want := w.answer(dave, "pizza", kind, age, tags...), w.answer(dave, "nowhere", kind, age, tags...)
					if kind == 9021 && w.answer(dave, "pizza", 9021, 0) == "<nil>" {
						continue // it lets everybody in
					}
					require.Equal(t, want, got, "%d %s %s", kind, name, age)
				}
			}
		}
	})
}

// A post in it has one answer, and so has the creation of a group with its id.
func TestPostsAndCreationsTellNothingOfAHiddenGroupButThatItIs(t *testing.T) {
	t.Parallel()
	attics(t, func(t *testing.T, w *world, said *wire.Event) {
		t.Helper()
		w.create("open")
		for _, tags := range [][]nostr.Tag{
			nil, list(h("open")), list(h("zzz")), list(tag("previous", said.ID[:8])), list(tag("previous", "00000000")), list(tag("previous", "x")),
		} {
			for _, kind := range []int{1, 9, 11, 30023} {
				for _, age := range []time.Duration{0, 2 * time.Hour} {
					for _, author := range []string{dave, outsider} {
						require.Equal(t, "restricted: only members may write in this group", w.answer(author, "pizza", kind, age, tags...))
					}
				}
			}
		}
		require.Equal(t, "duplicate: this id was given to a group; choose another one", w.answer(dave, "pizza", 9007, 0))
	})
}

// References are looked up for those who may read, of a join once it is granted.
func TestReferencesTellNothingToWhoMayNotRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		given  []nostr.Tag
		author string
		kind   int
		looked bool
	}{
		{"member of a private group", list(tag("private")), carol, 9, true},
		{"stranger in a private group", list(tag("private")), dave, 9, false},
		{"operator in a private group", list(tag("private")), boss, 9010, false},
		{"join of a private group", list(tag("private")), dave, 9021, false},
		{"join of a hidden group", list(tag("hidden")), dave, 9021, false},
		{"stranger in a public group", nil, dave, 9, true},
		{"join of a public group", nil, dave, 9021, true},
		{"creation", nil, dave, 9007, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pizza", c.given...)
			id := "pizza"
			if c.kind == 9007 {
				id = "pasta"
			}
			got := w.answer(c.author, id, c.kind, 0, tag("previous", "00000000"))
			require.Equal(t, c.looked, got == "invalid: a timeline reference names no event of this group", got)
			require.Contains(t, w.answer(c.author, id, c.kind, 0, tag("previous", "x")), "first 8 characters")
		})
	}
	w := newWorld(t)
	w.create("pizza", tag("closed"))
	require.Contains(t, w.answer(dave, "pizza", 9021, 0, tag("previous", "00000000")), "invite code")
	w.change(func(r *group.Rules) { r.MaxMembers = 3 })
	require.Contains(t, w.answer(carol, "pizza", 9021, 0, tag("previous", "00000000")), "already")
}
