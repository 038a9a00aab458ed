package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// club is a private, closed and restricted group of its own, made by admin, in
// which member is one.
type club struct {
	id            string
	admin, member *peer // both have authenticated
}

func newClub(t *testing.T, r *relay, flags ...string) *club {
	t.Helper()
	if *urlFlag != "" && !slices.Contains(document(t, r).SupportedNIPs, 29) {
		t.Skipf("%s has no groups: its document does not list NIP-29", r.url)
	}
	c := &club{id: "club" + random(), admin: r.dial(t), member: r.dial(t)}
	for _, p := range []*peer{c.admin, c.member} {
		require.True(t, p.authenticate(p.secret).OK)
	}
	tags := []nostr.Tag{}
	for _, f := range flags {
		tags = append(tags, nostr.Tag{f})
	}
	c.admin.store(
		c.event(c.admin, 9007, tags...),
		c.event(c.admin, 9000, nostr.Tag{"p", public(c.member.secret)}),
		c.event(c.admin, 9009, nostr.Tag{"code", "welcome"}),
	)
	return c
}

// event is about the group.
func (c *club) event(p *peer, kind int, tags ...nostr.Tag) *wire.Event {
	return signed(p.secret, kind, nostr.Now(), random(), append([]nostr.Tag{{"h", c.id}}, tags...)...)
}

// expect publishes an event and requires the prefix of its refusal, or for "" that
// it is accepted.
func (p *peer) expect(e *wire.Event, prefix, why string) {
	p.t.Helper()
	f := p.publish(e)
	require.Equal(p.t, prefix == "", f.OK, "%s: %s", why, f.raw)
	require.Equal(p.t, prefix, prefixOf(f), "%s: %s", why, f.raw)
}

// expectClosed sends REQ and COUNT and requires that both are refused.
func (p *peer) expectClosed(prefix, filter string) {
	p.t.Helper()
	events, end := p.query(filter)
	count := p.count(filter)
	require.Empty(p.t, events)
	for _, f := range []frame{end, count} {
		require.Equal(p.t, "CLOSED", f.Verb, "%s: %s", filter, f.raw)
		require.Equal(p.t, prefix, prefixOf(f), "%s: %s", filter, f.raw)
	}
}

// sees requires what REQ and COUNT show.
func (p *peer) sees(filter string, events ...*wire.Event) {
	p.t.Helper()
	require.ElementsMatch(p.t, idsOf(events), p.ids(filter), filter)
	count := p.count(filter)
	require.Equal(p.t, "COUNT", count.Verb, "%s: %s", filter, count.raw)
	require.Equal(p.t, len(events), count.Count, "COUNT tells what REQ hides: %s", filter)
}

// NIP-29: moderation by who has no right to it, and kinds that do not exist.
func TestModerationByStrangersIsRefused(t *testing.T) {
	t.Parallel()
	r := target(t)
	c := newClub(t, r, "private", "closed")
	stranger := r.dial(t)
	note := c.event(c.member, 9)
	c.member.store(note)
	for _, p := range []*peer{stranger, c.member} {
		victim := nostr.Tag{"p", public(c.admin.secret)}
		for kind, tag := range map[int]nostr.Tag{
			9000: {"p", public(p.secret), "admin"}, 9001: victim, 9002: {"public"}, 9005: {"e", note.ID},
			9008: nil, 9009: {"code", "mine"}, 9010: {"e", note.ID},
		} {
			e := c.event(p, kind)
			if tag != nil {
				e = c.event(p, kind, tag)
			}
			p.expect(e, "restricted", fmt.Sprint(kind))
		}
		p.expect(c.event(p, 9007), "duplicate", "create what exists")
	}
	for kind := 9003; kind <= 9020; kind++ {
		if kind < 9007 && kind != 9005 || kind > 9010 {
			c.admin.expect(c.event(c.admin, kind), "unsupported", fmt.Sprint(kind))
		}
	}
	stranger.expect(signed(stranger.secret, 9002, nostr.Now(), "", nostr.Tag{"h", "no-" + c.id}, nostr.Tag{"name", "x"}), "invalid", "a group that is none")
	stranger.expect(signed(stranger.secret, 9002, nostr.Now(), "", nostr.Tag{"name", "x"}), "invalid", "no group at all")
	c.admin.expect(c.event(c.admin, 9000, nostr.Tag{"p", "nobody"}), "invalid", "a key that is none")
	c.admin.expect(c.event(c.admin, 9001, nostr.Tag{"p", public(stranger.secret)}), "duplicate", "remove who is not there")
	c.admin.expect(c.event(c.admin, 9001, nostr.Tag{"p", public(c.admin.secret)}), "restricted", "the last admin")
	c.admin.expect(c.event(c.admin, 9002, nostr.Tag{"parent", c.id}), "invalid", "its own parent")
	for kind := 39000; kind <= 39009; kind++ {
		p := c.admin
		p.expect(signed(p.secret, kind, nostr.Now(), "", nostr.Tag{"d", c.id}), "restricted", "the relay alone tells of groups")
	}
	c.member.sees(`{"ids":["`+note.ID+`"]}`, note)
}

func TestJoiningNeedsACodeWhereTheGroupIsClosed(t *testing.T) {
	t.Parallel()
	r := target(t)
	c := newClub(t, r, "private", "closed")
	p := r.dial(t)
	p.expect(c.event(p, 9021), "restricted", "no code")
	p.expect(c.event(p, 9021, nostr.Tag{"code", "guess"}), "restricted", "a bad code")
	p.expect(c.event(p, 9022), "duplicate", "leave without being there")
	p.expect(c.event(p, 9021, nostr.Tag{"code", "welcome"}), "", "a good code")
	p.expect(c.event(p, 9021, nostr.Tag{"code", "welcome"}), "duplicate", "a member")
	p.expect(c.event(p, 9022), "", "leave")
	p.expect(c.event(p, 9022), "duplicate", "leave again")

	open := newClub(t, r)
	p.expect(open.event(p, 9021), "", "an open group takes everybody")
	open.admin.expect(open.event(open.admin, 9008), "", "delete")
	p.expect(open.event(p, 9021), "blocked", "it is gone")
	p.expect(open.event(p, 9), "blocked", "it is gone")
	p.expectClosed("restricted", `{"#h":["`+open.id+`"]}`)
}

func TestWritingInAGroupFollowsItsRules(t *testing.T) {
	t.Parallel()
	r := target(t)
	c := newClub(t, r, "restricted")
	stranger := r.dial(t)
	c.admin.store(c.event(c.admin, 9002, nostr.Tag{"supported_kinds", "9", "11"}))
	first := c.event(c.member, 9)
	c.member.store(first)
	stranger.expect(c.event(stranger, 9), "restricted", "only members write")
	require.True(t, stranger.authenticate(stranger.secret).OK)
	stranger.expect(c.event(stranger, 9), "restricted", "authentication makes no member")
	c.member.expect(c.event(c.member, 1), "restricted", "a kind that the group does not take")
	late := signed(c.member.secret, 9, nostr.Now()-2*60*60, "", nostr.Tag{"h", c.id})
	c.member.expect(late, "invalid", "late publication")
	c.member.expect(c.event(c.member, 9, nostr.Tag{"previous", first.ID[:8]}), "", "a known reference")
	c.member.expect(c.event(c.member, 9, nostr.Tag{"previous", first.ID[:8], "00000000"}), "invalid", "an unknown reference")
	c.member.expect(c.event(c.member, 9, nostr.Tag{"previous", "x"}), "invalid", "no reference")
	other := newClub(t, r)
	c.member.expect(other.event(c.member, 9, nostr.Tag{"previous", first.ID[:8]}), "invalid", "a reference into another group")
	c.member.expect(signed(c.member.secret, 9, nostr.Now(), "", nostr.Tag{"h", c.id}, nostr.Tag{"h", other.id}), "invalid", "two groups")
}

// Every way of asking gives who is no member the same answer.
func TestAPrivateGroupIsReadByItsMembersOnly(t *testing.T) {
	t.Parallel()
	r := target(t)
	c := newClub(t, r, "private", "closed")
	topic := random()
	secret := c.event(c.member, 9, nostr.Tag{"t", topic})
	c.member.store(secret)
	outside := r.dial(t)
	public := outside.note(topic, nostr.Now())
	outside.store(public)

	nobody, stranger := r.dial(t), r.dial(t)
	require.True(t, stranger.authenticate(stranger.secret).OK)
	for p, prefix := range map[*peer]string{nobody: "auth-required", stranger: "restricted"} {
		p.expectClosed(prefix, `{"#h":["`+c.id+`"]}`)
		p.expectClosed(prefix, `{"#h":["`+c.id+`"],"kinds":[9],"limit":1}`)
		p.expectClosed(prefix, `{"#d":["`+c.id+`"],"kinds":[39002,39005]}`)
		p.sees(`{"ids":["` + secret.ID + `"]}`)
		p.sees(`{"#t":["`+topic+`"]}`, public)
		p.sees(`{"#t":["`+topic+`"],"limit":1}`, public) // what is hidden takes no place
		require.Len(t, p.ids(`{"#d":["`+c.id+`"],"kinds":[39000]}`), 1, "that there is the group is no secret")
	}
	stranger.send(message("REQ", "two", `{"#h":["`+c.id+`"]}`, on(topic)))
	events, end := stranger.stored("two")
	require.Equal(t, "EOSE", end.Verb, "one filter is open: %s", end.raw)
	require.Equal(t, []string{public.ID}, idsOf(events))
	live, aside := c.event(c.member, 9, nostr.Tag{"t", topic}), outside.note(topic, nostr.Now())
	c.member.store(live)
	outside.store(aside)
	require.Equal(t, []string{aside.ID}, idsOf(eventsOf("two", stranger.passed())), "live as well as stored")
	c.member.sees(`{"#h":["`+c.id+`"],"kinds":[9]}`, secret, live)
}

// The members who are left see nothing of it, and who is removed is told.
func TestRemovalEndsWhatDependsOnIt(t *testing.T) {
	t.Parallel()
	r := target(t)
	c := newClub(t, r, "private", "closed")
	topic := random()
	for id, filter := range map[string]string{"group": `{"#h":["` + c.id + `"],"kinds":[9]}`, "broad": on(topic)} {
		c.member.req(id, filter)
		c.member.stored(id)
	}
	c.admin.req("group", `{"#h":["`+c.id+`"],"kinds":[9]}`)
	c.admin.stored("group")
	c.admin.store(c.event(c.admin, 9001, nostr.Tag{"p", public(c.member.secret)}))
	got := c.member.settle()
	require.Len(t, got, 1, raws(got))
	require.Equal(t, "CLOSED", got[0].Verb, got[0].raw)
	require.Equal(t, "group", got[0].Sub)
	require.Equal(t, "restricted", prefixOf(got[0]))

	hidden, open := c.event(c.admin, 9, nostr.Tag{"t", topic}), c.admin.note(topic, nostr.Now())
	c.admin.store(hidden, open)
	require.Equal(t, []string{open.ID}, idsOf(eventsOf("broad", c.member.passed())))
	require.Equal(t, []string{hidden.ID}, idsOf(eventsOf("group", c.admin.passed())))
	c.member.expectClosed("restricted", `{"#h":["`+c.id+`"]}`)
}

// To who is no member a hidden group is not there.
func TestAHiddenGroupIsAsIfItWereNotThere(t *testing.T) {
	t.Parallel()
	r := target(t)
	c := newClub(t, r, "private", "hidden", "closed")
	note := c.event(c.member, 9)
	c.member.store(note)
	stranger := r.dial(t)
	require.True(t, stranger.authenticate(stranger.secret).OK)
	missing := strings.Replace(c.id, "club", "none", 1)
	for _, filter := range []string{`{"#h":["%s"]}`, `{"#d":["%s"],"kinds":[39000,39001,39002,39003]}`, `{"#h":["%s"],"kinds":[9]}`} {
		for _, id := range []string{c.id, missing} {
			stranger.sees(fmt.Sprintf(filter, id))
		}
	}
	for _, kind := range []int{9000, 9001, 9002, 9005, 9008, 9009, 9010, 9021, 9022, 9} {
		there := stranger.publish(c.event(stranger, kind))
		c2 := &club{id: missing}
		absent := stranger.publish(c2.event(stranger, kind))
		if kind != 9 {
			require.Equal(t, absent.Text, there.Text, "kind %d: %s", kind, there.raw)
		}
		requirePrefixUnlessOK(t, there)
	}
	c.member.sees(`{"#h":["`+c.id+`"],"kinds":[9],"authors":["`+public(c.member.secret)+`"]}`, note)
}

func requirePrefixUnlessOK(t *testing.T, f frame) {
	t.Helper()
	if !f.OK {
		requirePrefix(t, f)
	}
}
