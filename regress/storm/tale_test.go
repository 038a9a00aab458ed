package storm_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// tale is a made-up storm: a log, what was asked for, and what one connection saw.
// In the private group "g" are its admin and the reader.
type tale struct {
	t        *testing.T
	ledger   *ledger
	entries  []store.Entry
	operated int
	problems problems
	record   *record
	slot     *slot
}

const (
	relayKey  = 1
	adminKey  = 2
	readerKey = 3
	writerKey = 4
)

func newTale(t *testing.T) *tale {
	s := &tale{t: t, ledger: newLedger(), record: &record{name: "the reader", key: storetest.Key(readerKey), authSent: never, authed: never}}
	s.slot = &slot{id: "x", record: s.record, problems: &s.problems}
	s.row(control.Row{Type: control.GroupCreated, Group: "g", Key: storetest.Key(adminKey), Tags: nostr.Tags{{"private"}}, Stamp: 1})
	s.put()
	s.slot.opens(wire.NewFilter(nostr.Filter{Tags: nostr.TagMap{"h": {"g"}}}), s.ledger.now())
	return s
}

// write adds an event to the log.
func (s *tale) write(author, kind int, tags ...nostr.Tag) *wire.Event {
	e := storetest.Draft{Key: author, Kind: kind, At: int64(len(s.entries)), Tags: tags}.Event()
	s.entries = append(s.entries, store.Entry{
		Position: store.Position(len(s.entries) + 1), Type: store.EntryEvent, Event: e, Prefix: store.PrefixOf(e),
	})
	return e
}

// say writes a message into the group, and notes its OK.
func (s *tale) say() *wire.Event {
	e := s.write(writerKey, 9, nostr.Tag{"h", "g"})
	s.ledger.accepts(e)
	return e
}

func (s *tale) row(r control.Row) {
	data, err := control.Encode(r)
	require.NoError(s.t, err)
	s.entries = append(s.entries, store.Entry{
		Position: store.Position(len(s.entries) + 1), Type: store.EntryControl, Control: &store.Control{Data: data},
	})
}

// change is a request of the admin that is granted, with its row.
func (s *tale) change(r control.Row) {
	e := s.write(adminKey, 9000, nostr.Tag{"h", "g"})
	s.ledger.asks(e.ID)
	r.Group, r.Stamp = "g", 1
	s.row(r)
	s.ledger.grants(e.ID)
}

func (s *tale) put() { s.change(control.Row{Type: control.GroupPut, Key: storetest.Key(readerKey)}) }

func (s *tale) remove() {
	s.change(control.Row{Type: control.GroupRemoved, Key: storetest.Key(readerKey)})
}

// operate is something that the operator does.
func (s *tale) operate(r control.Row) {
	token := operatorToken(s.operated)
	s.operated++
	s.ledger.asks(token)
	s.row(r)
	s.ledger.grants(token)
}

func (s *tale) ban() { s.operate(control.Row{Type: control.KeyBanned, Key: storetest.Key(readerKey)}) }

func (s *tale) unban() {
	s.operate(control.Row{Type: control.KeyUnbanned, Key: storetest.Key(readerKey)})
}

// hear has the reader receive events.
func (s *tale) hear(events ...*wire.Event) {
	for _, e := range events {
		s.slot.event(e, s.ledger.now())
	}
}

func (s *tale) eose()           { s.slot.eose() }
func (s *tale) end(text string) { s.slot.ended(text, s.ledger.now()) }
func (s *tale) barrier()        { s.answer(s.ledger.now()) }
func (s *tale) answer(at uint64) { // of a barrier that was sent then
	s.record.floor = at
	n := note{kind: gotBarrier, at: s.ledger.now()}
	if g := s.slot.current; g != nil && !g.over {
		n.open = []*generation{g}
	}
	s.record.note(n)
}

// count is a COUNT of the group with its answer, text when it was refused.
func (s *tale) count(n int, text string) {
	f := wire.NewFilter(nostr.Filter{Kinds: []int{9}, Tags: nostr.TagMap{"h": {"g"}}})
	sent := s.ledger.now()
	s.record.note(note{kind: gotCount, sent: sent, at: s.ledger.now(), filter: f, count: n, text: text})
}

func (s *tale) authenticate() {
	s.record.authSent, s.record.authed = s.ledger.now(), s.ledger.now()
}

func (s *tale) cut() { s.record.note(note{kind: gotEnd, at: s.ledger.now()}) }

// judge returns what is wrong with it.
func (s *tale) judge(resident bool) map[string]int {
	past, err := newHistory(&host{self: storetest.Key(relayKey)}, s.entries, s.ledger)
	require.NoError(s.t, err)
	j := judge{history: past, ledger: s.ledger}
	j.record(s.record, resident)
	j.written()
	j.problems.join(&s.problems)
	return j.problems.counts
}
