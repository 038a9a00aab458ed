//go:build !nopause

package explore_test

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
	rules "fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// Permissions in a world: one private group, the club, whose events are secrets.
// Every frame is judged by what is in force when it is taken, and every open
// subscription in the end; see harness.Client.Judge and client.check.

const (
	secrets    = `{"#h":["club"]}`
	everything = `{"kinds":[1,2,9]}`

	reqSecrets    = `["REQ","x",` + secrets + `]`
	reqEverything = `["REQ","x",` + everything + `]`
	countAll      = `["COUNT","all",` + everything + `]`
	countSecrets  = `["COUNT","club",` + secrets + `]`
)

// memberKey is the secret key of a member that authenticates by itself.
const memberKey = "0000000000000000000000000000000000000000000000000000000000000003"

// member is the public key of whoever founds the club, or memberKey's.
var member = storetest.Key(5)

// memberOf is memberKey's public key.
const memberOf = "f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9"

// club founds the private group. Its member is the founder.
func (w *world) club(founder string) {
	w.relay.Control(w.t, control.Row{
		Type: control.GroupCreated, Group: "club", Key: founder, Stamp: 1, Tags: nostr.Tags{{"private"}},
	}, "g:club")
	w.relay.Step(w.t)
}

// expel commits the row that ends a membership of the club. The follower applies it.
func (w *world) expel(key string) store.Position {
	return w.relay.Control(w.t, control.Row{Type: control.GroupRemoved, Group: "club", Key: key, Stamp: 2}, "g:club")
}

// ban commits the row that bans a key.
func (w *world) ban(key string) {
	w.banned = key
	w.relay.Control(w.t, control.Row{Type: control.KeyBanned, Key: key}, key)
}

// enrol commits the row that makes somebody a member of the club.
func (w *world) enrol(key string) {
	w.relay.Control(w.t, control.Row{Type: control.GroupPut, Group: "club", Key: key, Stamp: 3})
}

// open makes the club a group that everybody reads; close ends that.
func (w *world) open() {
	w.club(member)
	w.edit()
	w.relay.Step(w.t)
}

func (w *world) close() { w.edit("private") }

// edit commits the row that gives the club exactly these flags.
func (w *world) edit(flags ...string) {
	tags := nostr.Tags{}
	for _, f := range flags {
		tags = append(tags, nostr.Tag{f})
	}
	w.relay.Control(w.t, control.Row{Type: control.GroupEdited, Group: "club", Stamp: 4, Tags: tags}, "g:club")
}

// guest is a connection of the club's member.
func (w *world) guest(name string) *client {
	w.club(member)
	c := w.connect(name)
	c.Login(member)
	return c
}

// subscribed is a guest that has asked for something as x.
func (w *world) subscribed(name, filter string) *client {
	c := w.guest(name)
	w.stored(pear(1))
	c.open("x", filter)
	return c
}

// reload lets members of the relay alone read, of whom there are none.
func (w *world) reload() explore.Operation {
	return explore.Operation{Name: "reload", Run: func(func(pause.Point)) {
		w.relay.Rule(rules.Rules{Members: rules.MembersAll})
	}}
}

// expulsion commits the end of a membership in one step, beside the follower.
func (w *world) expulsion(key string) explore.Operation {
	return explore.Operation{Name: "publisher", Run: func(func(pause.Point)) { w.expel(key) }}
}

// Stops of an outside decision.
const (
	outsideAsked   pause.Point = "outside.asked"
	outsideAnswers pause.Point = "outside.answers"
)

// outside is a decision from elsewhere that takes time.
type outside struct {
	hook    *pause.Hook
	no      atomic.Bool // its answer
	inForce atomic.Bool // and the relay knows that it has changed
}

// MaySee implements access.Outside.
func (o *outside) MaySee(context.Context, []string, *wire.Event) (bool, error) {
	o.hook.At(outsideAsked)
	yes := !o.no.Load()
	o.hook.At(outsideAnswers)
	return yes, nil
}

// refusal turns the outside decision into a no, and then tells the relay.
func (w *world) refusal() explore.Operation {
	return explore.Operation{Name: "outside", Run: func(at func(pause.Point)) {
		w.elsewhere.no.Store(true)
		at(nextMessage)
		w.relay.Policy.Moved()
		w.elsewhere.inForce.Store(true)
	}}
}

// post returns an EVENT message of memberKey to the club.
func (w *world) post() string {
	msg, err := signed()
	require.NoError(w.t, err)
	return msg
}

// signed makes it once: a signature takes as long as five schedules.
var signed = sync.OnceValues(func() (string, error) {
	e := nostr.Event{CreatedAt: 101, Kind: 9, Tags: nostr.Tags{{"h", "club"}}, Content: "post"}
	err := e.Sign(memberKey)
	return string(wire.AppendEventMessage(nil, wire.NewEvent(e))), err
})

// lastExpulsion is expulsion, after which the club takes nothing more of memberKey.
func (w *world) lastExpulsion(key string) explore.Operation {
	return explore.Operation{Name: "publisher", Run: func(func(pause.Point)) { w.nothingAbove(w.expel(key)) }}
}

// nothingAbove expects that no event of memberKey was committed above a position.
func (w *world) nothingAbove(at store.Position) {
	w.last = append(w.last, func() {
		w.relay.Committed(0, func(position store.Position, ev *wire.Event) {
			if ev.PubKey == memberOf && position > at {
				w.problem("an event of who was expelled at %d is committed at %d", at, position)
			}
		})
	})
}
