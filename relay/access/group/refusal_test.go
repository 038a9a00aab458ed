package group_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/access/group"
	"fencepost/relay/wire"
)

// many makes n tags of a name with different values.
func many(name string, n int, value func(int) string) []nostr.Tag {
	out := make([]nostr.Tag, n)
	for i := range out {
		out[i] = nostr.Tag{name, value(i)}
	}
	return out
}

func number(i int) string { return fmt.Sprintf("%064x", i+1) }

// refusal is one request about the group pizza (alice is admin, bob moderator,
// carol a member) and the answer.
type refusal struct {
	name   string
	given  func(w *world) // nil: nothing besides
	author string
	kind   int
	tags   []nostr.Tag
	prefix wire.Prefix
	text   string
}

func edited(tags ...nostr.Tag) func(w *world) {
	return func(w *world) { w.do(alice, 9002, append([]nostr.Tag{h("pizza")}, tags...)...) }
}

func ruled(f func(*group.Rules)) func(w *world) { return func(w *world) { w.change(f) } }

func deleted(w *world) { w.do(alice, 9008, h("pizza")) }

func list(tags ...nostr.Tag) []nostr.Tag { return tags }

func pizza(tags ...nostr.Tag) []nostr.Tag { return append([]nostr.Tag{h("pizza")}, tags...) }

var refusals = []refusal{
	// The form of requests.
	{"no h", nil, alice, 9002, list(tag("name", "x")), wire.Invalid, "names one group"},
	{"two h", nil, alice, 9002, list(h("pizza"), h("pasta")), wire.Invalid, "names one group"},
	{"h without a value", nil, alice, 9002, list(tag("h")), wire.Invalid, "1 to 64 characters"},
	{"bad id", nil, alice, 9007, list(h("piz za")), wire.Invalid, "1 to 64 characters"},
	{"long id", nil, alice, 9007, list(h(strings.Repeat("x", 65))), wire.Invalid, "1 to 64 characters"},
	{"unknown group", nil, alice, 9002, list(h("pasta"), tag("name", "x")), wire.Invalid, "no such group"},
	{"kind 9003", nil, alice, 9003, pizza(), wire.Unsupported, "not offered"},
	{"kind 9006", nil, alice, 9006, pizza(), wire.Unsupported, "not offered"},
	{"kind 9011", nil, boss, 9011, pizza(), wire.Unsupported, "not offered"},
	{"kind 9020", nil, alice, 9020, pizza(), wire.Unsupported, "not offered"},

	// Creation.
	{"id in use", nil, dave, 9007, pizza(), wire.Duplicate, "there is a group"},
	{"id of a deleted group", deleted, dave, 9007, pizza(), wire.Blocked, "was deleted"},
	{"creation by the operator only", ruled(func(r *group.Rules) { r.Create = group.CreateOperator }), alice, 9007, list(h("pasta")), wire.Restricted, "only the operator"},
	{"too many groups", ruled(func(r *group.Rules) { r.MaxGroups = 1 }), dave, 9007, list(h("pasta")), wire.RateLimited, "as many groups"},
	{"too many groups of one key", ruled(func(r *group.Rules) { r.MaxPerKey = 1 }), alice, 9007, list(h("pasta")), wire.RateLimited, "as one key may"},
	{"own parent at creation", nil, dave, 9007, list(h("pasta"), tag("parent", "pasta")), wire.Invalid, "own parent"},

	// Rank.
	{"member puts", nil, carol, 9000, pizza(p(dave)), wire.Restricted, "only an admin of"},
	{"moderator puts", nil, bob, 9000, pizza(p(dave)), wire.Restricted, "only an admin of"},
	{"stranger puts", nil, dave, 9000, pizza(p(dave)), wire.Restricted, "only an admin of"},
	{"member removes", nil, carol, 9001, pizza(p(bob)), wire.Restricted, "an admin or a moderator"},
	{"moderator edits", nil, bob, 9002, pizza(tag("name", "x")), wire.Restricted, "only an admin of"},
	{"member deletes an event", nil, carol, 9005, pizza(tag("e", number(1))), wire.Restricted, "an admin or a moderator"},
	{"moderator deletes the group", nil, bob, 9008, pizza(), wire.Restricted, "only an admin of"},
	{"member invites", nil, carol, 9009, pizza(tag("code", "x")), wire.Restricted, "an admin or a moderator"},
	{"member pins", nil, carol, 9010, pizza(), wire.Restricted, "an admin or a moderator"},
	{"stranger edits a hidden group", edited(tag("hidden")), dave, 9002, pizza(tag("name", "x")), wire.Invalid, "no such group"},
	{"stranger leaves a hidden group", edited(tag("hidden")), dave, 9022, pizza(), wire.Invalid, "no such group"},
	{"request about a deleted group", deleted, alice, 9002, pizza(tag("name", "x")), wire.Blocked, "was deleted"},
	{"operator about a deleted group", deleted, boss, 9000, pizza(p(dave)), wire.Blocked, "was deleted"},
	{"request about a deleted hidden group", func(w *world) { edited(tag("hidden"))(w); deleted(w) }, alice, 9021, pizza(), wire.Invalid, "no such group"},

	// put-user.
	{"nobody to put", nil, alice, 9000, pizza(), wire.Invalid, "names nobody"},
	{"bad key", nil, alice, 9000, pizza(p("abc")), wire.Invalid, "holds a public key"},
	{"short key", nil, alice, 9000, pizza(p("112000800700110022017000100000000018100000000010000700000110209")), wire.Invalid, "holds a public key"},
	{"p without a key", nil, alice, 9000, pizza(tag("p")), wire.Invalid, "holds a public key"},
	{"upper-case key", nil, alice, 9000, pizza(p(strings.ToUpper(dave))), wire.Invalid, "holds a public key"},
	{"key that is no point", nil, alice, 9000, pizza(p(strings.Repeat("f", 64))), wire.Invalid, "holds a public key"},
	{"key twice", nil, alice, 9000, pizza(p(dave), p(dave, "admin")), wire.Invalid, "named twice"},
	{"too many keys", nil, alice, 9000, pizza(many("p", group.MaxTargets+1, func(i int) string { return keys[i+7] })...), wire.Invalid, "at most 100 keys"},
	{"long role", nil, alice, 9000, pizza(p(dave, strings.Repeat("x", 65))), wire.Invalid, "1 to 64 bytes"},
	{"many roles", nil, alice, 9000, pizza(p(dave, "1", "2", "3", "4", "5", "6", "7", "8", "9")), wire.Invalid, "at most 8 roles"},
	{"nothing changes", nil, alice, 9000, pizza(p(carol), p(bob, "moderator")), wire.Duplicate, "already"},
	{"group is full", ruled(func(r *group.Rules) { r.MaxMembers = 3 }), alice, 9000, pizza(p(dave)), wire.Restricted, "as many members"},

	// remove-user.
	{"nobody to remove", nil, alice, 9001, pizza(), wire.Invalid, "names nobody"},
	{"remove a stranger", nil, alice, 9001, pizza(p(dave)), wire.Duplicate, "none of them is a member"},

	// edit-metadata.
	{"nothing to edit", nil, alice, 9002, pizza(tag("colour", "red")), wire.Invalid, "has no field"},
	{"name twice", nil, alice, 9002, pizza(tag("name", "x"), tag("name", "y")), wire.Invalid, "name is said twice"},
	{"private and public", nil, alice, 9002, pizza(tag("private"), tag("public")), wire.Invalid, "private is said twice"},
	{"long name", nil, alice, 9002, pizza(tag("name", strings.Repeat("x", 257))), wire.Invalid, "at most 256 bytes"},
	{"long picture", nil, alice, 9002, pizza(tag("picture", strings.Repeat("x", 2049))), wire.Invalid, "at most 2048 bytes"},
	{"long about", nil, alice, 9002, pizza(tag("about", strings.Repeat("x", 4097))), wire.Invalid, "at most 4096 bytes"},
	{"much metadata", nil, alice, 9002, pizza(tag("about", strings.Repeat("x", 4096)), tag("picture", strings.Repeat("x", 2048)), tag("banner", strings.Repeat("x", 2048))), wire.Invalid, "at most 8192 bytes"},
	{"metadata that grow", edited(tag("about", strings.Repeat("x", 4096)), tag("picture", strings.Repeat("x", 2048))), alice, 9002, pizza(tag("banner", strings.Repeat("x", 2048))), wire.Invalid, "at most 8192 bytes"},
	{"much metadata at creation", nil, alice, 9007, append(many("child", 100, func(i int) string { return fmt.Sprint(strings.Repeat("x", 60), i) }), h("pasta"), tag("about", strings.Repeat("x", 2500))), wire.Invalid, "at most 8192 bytes"},
	{"kind that is no number", nil, alice, 9002, pizza(tag("supported_kinds", "nine")), wire.Invalid, "plain numbers"},
	{"kind with a zero before", nil, alice, 9002, pizza(tag("supported_kinds", "09")), wire.Invalid, "plain numbers"},
	{"kind too large", nil, alice, 9002, pizza(tag("supported_kinds", "65536")), wire.Invalid, "plain numbers"},
	{"too many kinds", nil, alice, 9002, pizza(append(nostr.Tag{"supported_kinds"}, make([]string, 257)...)), wire.Invalid, "at most 256 kinds"},
	{"child that is no id", nil, alice, 9002, pizza(tag("child", "a b")), wire.Invalid, "names no group"},
	{"child twice", nil, alice, 9002, pizza(tag("child", "a"), tag("child", "a", "1")), wire.Invalid, "listed twice"},
	{"long child tag", nil, alice, 9002, pizza(tag("child", "a", strings.Repeat("x", 129))), wire.Invalid, "too long"},
	{"too many children listed", nil, alice, 9002, pizza(many("child", 101, func(i int) string { return fmt.Sprint(i) })...), wire.Invalid, "at most 100 children"},
	{"own parent", nil, alice, 9002, pizza(tag("parent", "pizza")), wire.Invalid, "own parent"},

	// delete-event.
	{"no event to delete", nil, alice, 9005, pizza(), wire.Invalid, "1 to 100 events"},
	{"too many events", nil, alice, 9005, pizza(many("e", 101, number)...), wire.Invalid, "1 to 100 events"},
	{"bad event id", nil, alice, 9005, pizza(tag("e", "abc")), wire.Invalid, "holds an event id"},
	{"unknown event", nil, alice, 9005, pizza(tag("e", number(1))), wire.Invalid, "no event of this group"},

	// create-invite.
	{"no code", nil, alice, 9009, pizza(), wire.Invalid, "1 to 100 code tags"},
	{"too many codes at once", nil, alice, 9009, pizza(many("code", 101, number)...), wire.Invalid, "1 to 100 code tags"},
	{"empty code", nil, alice, 9009, pizza(tag("code")), wire.Invalid, "1 to 64 bytes"},
	{"long code", nil, alice, 9009, pizza(tag("code", strings.Repeat("x", 65))), wire.Invalid, "1 to 64 bytes"},
	{"code twice", nil, alice, 9009, pizza(tag("code", "x"), tag("code", "x")), wire.Invalid, "given once"},
	{"code that is there", func(w *world) { w.do(bob, 9009, pizza(tag("code", "x"))...) }, alice, 9009, pizza(tag("code", "x")), wire.Duplicate, "valid already"},
	{"too many codes", func(w *world) {
		for i := range group.MaxCodes / 100 {
			w.do(alice, 9009, pizza(many("code", 100, func(j int) string { return fmt.Sprint(i, ".", j) })...)...)
		}
	}, alice, 9009, pizza(tag("code", "one more")), wire.Restricted, "at most 100 "},

	// update-pin-list.
	{"too many pins", ruled(func(r *group.Rules) { r.MaxPins = 2 }), alice, 9010, pizza(many("a", 3, func(i int) string { return fmt.Sprint("30023:x:", i) })...), wire.Invalid, "more than may be pinned"},
	{"pins that are too long", ruled(func(r *group.Rules) { r.MaxPins = 0 }), alice, 9010, pizza(many("a", 2048, func(i int) string { return fmt.Sprintf("%0256d", i) })...), wire.Invalid, "more than may be pinned"},
	{"pin of an unknown event", nil, alice, 9010, pizza(tag("e", number(1))), wire.Invalid, "no event of this group"},
	{"pin without a value", nil, alice, 9010, pizza(tag("e")), wire.Invalid, "2 or 3 elements"},
	{"pin of many elements", nil, alice, 9010, pizza(tag("a", "1:x:", "wss://x", "y")), wire.Invalid, "2 or 3 elements"},
	{"long pin", nil, alice, 9010, pizza(tag("a", strings.Repeat("x", 257))), wire.Invalid, "too long"},
	{"pin twice", nil, alice, 9010, pizza(tag("a", "1:x:"), tag("a", "1:x:")), wire.Invalid, "pinned twice"},

	// join and leave.
	{"join of a member", nil, carol, 9021, pizza(), wire.Duplicate, "already"},
	{"join of a member who has a code", edited(tag("closed")), carol, 9021, pizza(tag("code", "x")), wire.Duplicate, "already"},
	{"join of a closed group", edited(tag("closed")), dave, 9021, pizza(), wire.Restricted, "needs an invite code"},
	{"join with a wrong code", edited(tag("closed")), dave, 9021, pizza(tag("code", "x")), wire.Restricted, "not valid"},
	{"join of a hidden closed group", edited(tag("closed"), tag("hidden")), dave, 9021, pizza(), wire.Invalid, "no such group"},
	{"join with a wrong code of a hidden group", edited(tag("closed"), tag("hidden")), dave, 9021, pizza(tag("code", "x")), wire.Invalid, "no such group"},
	{"join of a deleted group", deleted, dave, 9021, pizza(), wire.Blocked, "was deleted"},
	{"join of a full group", ruled(func(r *group.Rules) { r.MaxMembers = 3 }), dave, 9021, pizza(), wire.Restricted, "as many members"},
	{"leave of a stranger", nil, dave, 9022, pizza(), wire.Duplicate, "not a member"},

	// Ordinary events.
	{"two groups", nil, alice, 9, list(h("pizza"), h("other")), wire.Invalid, "in one group"},
	{"many h tags", nil, alice, 9, many("h", group.MaxNames+1, func(i int) string { return fmt.Sprint(i) }), wire.Invalid, "16 different"},
	{"deleted group", deleted, alice, 9, pizza(), wire.Blocked, "was deleted"},
	{"restricted group", edited(tag("restricted")), dave, 9, pizza(), wire.Restricted, "only members may write"},
	{"restricted group, operator", edited(tag("restricted")), boss, 9, pizza(), wire.Restricted, "only members may write"},
	{"kind that is not supported", edited(tag("supported_kinds", "9")), alice, 1, pizza(), wire.Restricted, "of this kind"},
	{"no kind is supported", edited(tag("supported_kinds")), alice, 9, pizza(), wire.Restricted, "of this kind"},
	{"reference that is no prefix", nil, alice, 9, pizza(tag("previous", "0123456")), wire.Invalid, "first 8 characters"},
	{"reference in upper case", nil, alice, 9, pizza(tag("previous", "ABCDEF01")), wire.Invalid, "first 8 characters"},
	{"unknown reference", nil, alice, 9, pizza(tag("previous", "01234567")), wire.Invalid, "no event of this group"},
	{"unknown reference of a request", nil, alice, 9002, pizza(tag("name", "x"), tag("previous", "01234567")), wire.Invalid, "no event of this group"},
	{"unknown reference at creation", nil, alice, 9007, list(h("pasta"), tag("previous", "01234567")), wire.Invalid, "no event of this group"},
	{"too many references", nil, alice, 9, pizza(append(nostr.Tag{"previous"}, prefixes(group.MaxPrevious+1)...)), wire.Invalid, "at most 64"},

	// The relay's own events.
	{"metadata of somebody", nil, alice, 39000, list(tag("d", "pizza")), wire.Restricted, "only this relay"},
	{"metadata of no group", nil, alice, 39000, list(tag("d", "pasta")), wire.Restricted, "only this relay"},
	{"members of somebody", nil, boss, 39002, list(tag("d", "pizza")), wire.Restricted, "only this relay"},
	{"kind 39009", nil, alice, 39009, nil, wire.Restricted, "only this relay"},

	// Off.
	{"groups were turned off", ruled(func(r *group.Rules) { r.Create = group.CreateNone }), alice, 9, pizza(), wire.Restricted, "turned off"},
	{"request after groups were turned off", ruled(func(r *group.Rules) { r.Create = group.CreateNone }), alice, 9002, pizza(tag("name", "x")), wire.Restricted, "turned off"},
	{"many h tags after groups were turned off", ruled(func(r *group.Rules) { r.Create = group.CreateNone }), alice, 9, many("h", group.MaxNames+1, func(i int) string { return fmt.Sprint(i) }), wire.Restricted, "turned off"},
}

func prefixes(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%08x", i)
	}
	return out
}

func TestEveryRefusalHasItsPrefix(t *testing.T) {
	t.Parallel()
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("pizza")
			if c.given != nil {
				c.given(w)
			}
			before := w.book.Dump()
			_, err := w.try(c.author, c.kind, c.tags...)
			refused(t, err, c.prefix, c.text)
			if before != w.book.Dump() {
				t.Fatal("a refusal changed the state")
			}
		})
	}
}

func TestLatePublicationIsRefused(t *testing.T) {
	t.Parallel()
	for _, kind := range []int{9, 9002, 9007, 9021} {
		w := newWorld(t)
		w.create("pizza")
		id := "pizza"
		if kind == 9007 {
			id = "pasta"
		}
		ev := w.event(dave, kind, h(id))
		w.now = w.now.Add(time.Hour + time.Second)
		_, err := w.plan(ev)
		refused(t, err, wire.Invalid, "too old")

		w.change(func(r *group.Rules) { r.MaxAge = 0 })
		if _, err := w.plan(ev); kind != 9002 && err != nil {
			t.Fatal(kind, err)
		}
	}
}
