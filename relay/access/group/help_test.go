package group_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access/control"
	"fencepost/relay/access/group"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// keys are public keys of real points.
var keys = makeKeys(120)

var (
	self     = keys[0]
	boss     = keys[1] // the operator
	alice    = keys[2]
	bob      = keys[3]
	carol    = keys[4]
	dave     = keys[5]
	outsider = keys[6]
)

func makeKeys(n int) []string {
	out := make([]string, n)
	for i := range out {
		key, err := nostr.GetPublicKey(fmt.Sprintf("%064x", i+1))
		if err != nil {
			panic(err)
		}
		out[i] = key
	}
	return out
}

// seal gives ev an id, and a signature that has only the form of one.
func seal(author string, ev *nostr.Event) {
	ev.PubKey, ev.Sig = author, strings.Repeat("5", 128)
	ev.ID = ev.GetID()
}

// entry is a committed control row.
type entry struct {
	at     store.Position
	row    control.Row
	scopes []string
}

// world is a book with a store that is as slow and obvious as can be.
type world struct {
	t      require.TestingT
	now    time.Time
	rules  group.Rules
	book   *group.Book
	at     store.Position
	log    []entry
	epochs map[string]store.Position
	events map[string]*wire.Event
	count  int
	failed error // of Find and Prefixed
}

var someTime = time.Unix(1_750_000_000, 0)

func newWorld(t require.TestingT) *world {
	w := &world{
		t: t, now: someTime,
		rules:  group.Rules{Create: group.CreateAnyone, MaxAge: time.Hour, MaxGroups: 1000, MaxMembers: 1000, MaxPins: 10},
		epochs: map[string]store.Position{},
		events: map[string]*wire.Event{},
	}
	w.book = w.newBook()
	return w
}

func (w *world) newBook() *group.Book {
	b, err := group.New(group.Options{
		Self:     self,
		Sign:     func(ev *nostr.Event) error { seal(self, ev); return nil },
		Now:      func() time.Time { return w.now },
		Find:     w.find,
		Prefixed: w.prefixed,
		Rules:    w.rules,
	})
	require.NoError(w.t, err)
	return b
}

func (w *world) find(_ context.Context, id string) (*wire.Event, bool, error) {
	ev, ok := w.events[id]
	return ev, ok, w.failed
}

func (w *world) prefixed(_ context.Context, prefix string) (out []*wire.Event, err error) {
	for id, ev := range w.events {
		if strings.HasPrefix(id, prefix) {
			out = append(out, ev)
		}
	}
	return out, w.failed
}

// change alters the rules.
func (w *world) change(f func(*group.Rules)) {
	f(&w.rules)
	w.book.SetRules(w.rules)
}

// event makes an event that no other is equal to.
func (w *world) event(author string, kind int, tags ...nostr.Tag) *wire.Event {
	w.count++
	ev := nostr.Event{
		CreatedAt: nostr.Timestamp(w.now.Unix()), Kind: kind, Tags: tags, Content: strconv.Itoa(w.count),
	}
	seal(author, &ev)
	return wire.NewEvent(ev)
}

// plan asks the book as package access does.
func (w *world) plan(ev *wire.Event) (store.Write, error) {
	write := store.Write{Event: ev, Terms: w.book.Terms(ev)}
	if !w.book.Names(ev) {
		return write, nil
	}
	effect, err := w.book.Plan(context.Background(), []string{ev.PubKey}, ev, ev.PubKey == boss)
	write.Also, write.Controls, write.Ban, write.Erase = effect.Also, effect.Controls, effect.Ban, effect.Erase
	return write, err
}

// commit stores what was planned, as one, and applies it.
func (w *world) commit(write store.Write) error {
	for _, term := range write.Terms {
		if w.epochs[term.Scope] != term.Epoch {
			return store.ErrMoved
		}
	}
	w.at++
	if write.Event != nil {
		w.events[write.Event.ID] = write.Event
	}
	for _, ev := range write.Also {
		w.at++
		w.put(ev)
	}
	for _, id := range write.Ban {
		delete(w.events, id)
	}
	if x := write.Erase; x != nil {
		for id, ev := range w.events {
			if x.Selects(ev) {
				delete(w.events, id)
			}
		}
	}
	first := len(w.log)
	for _, c := range write.Controls {
		row, err := control.Decode(c.Data)
		require.NoError(w.t, err)
		w.at++
		for _, s := range c.Scopes {
			w.epochs[s] = w.at
		}
		w.log = append(w.log, entry{w.at, row, c.Scopes})
	}
	for _, e := range w.log[first:] {
		_, err := w.book.Apply(e.at, e.row, e.scopes)
		require.NoError(w.t, err)
	}
	return nil
}

// put stores an addressable event in place of the older one.
func (w *world) put(ev *wire.Event) {
	for id, old := range w.events {
		if address := ev.Address(); address != "" && old.Address() == address {
			require.Greater(w.t, ev.CreatedAt, old.CreatedAt, "kind %d does not replace the older one", ev.Kind)
			delete(w.events, id)
		}
	}
	w.events[ev.ID] = ev
}

// try sends a request and returns the refusal.
func (w *world) try(author string, kind int, tags ...nostr.Tag) (*wire.Event, error) {
	ev := w.event(author, kind, tags...)
	write, err := w.plan(ev)
	if err != nil {
		return nil, err
	}
	require.NoError(w.t, w.commit(write))
	return ev, nil
}

// do sends a request that is allowed.
func (w *world) do(author string, kind int, tags ...nostr.Tag) *wire.Event {
	ev, err := w.try(author, kind, tags...)
	require.NoError(w.t, err)
	return ev
}

// create makes a group of alice's, in which bob is moderator and carol a member.
func (w *world) create(id string, tags ...nostr.Tag) {
	w.do(alice, 9007, append([]nostr.Tag{h(id)}, tags...)...)
	w.do(alice, 9000, h(id), nostr.Tag{"p", bob, "moderator"}, nostr.Tag{"p", carol})
}

// state returns the relay's event of kind about a group, nil without one.
func (w *world) state(kind int, id string) *wire.Event {
	for _, ev := range w.events {
		if ev.Kind == kind && ev.PubKey == self && ev.D() == id {
			return ev
		}
	}
	return nil
}

// sees reports whether the reader may see ev.
func (w *world) sees(ev *wire.Event, reader ...string) bool {
	_, may := w.book.Sight(ev)
	return may == nil || may(reader)
}

// rebuilt returns a new book that was given all rows.
func (w *world) rebuilt() *group.Book {
	b := w.newBook()
	for _, e := range w.log {
		_, err := b.Apply(e.at, e.row, e.scopes)
		require.NoError(w.t, err)
	}
	return b
}

func h(id string) nostr.Tag               { return nostr.Tag{"h", id} }
func p(key string, r ...string) nostr.Tag { return append(nostr.Tag{"p", key}, r...) }
func tag(t ...string) nostr.Tag           { return t }

// refused asserts that err is a refusal with that prefix.
func refused(t require.TestingT, err error, prefix wire.Prefix, text string) {
	var reason wire.Reason
	require.ErrorAs(t, err, &reason)
	require.Equal(t, prefix, reason.Prefix, reason.Text)
	require.Contains(t, reason.Text, text)
}
