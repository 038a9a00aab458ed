package storm_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access/control"
	"fencepost/relay/wire"
)

// TestJudge tells it tales with one fault each, and their nearest harmless
// neighbours.
func TestJudge(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tale  func(s *tale)
		fault string // "" for none
	}{
		"a member hears the group": {func(s *tale) { s.eose(); s.hear(s.say(), s.say()) }, ""},
		"live, after a removal":    {func(s *tale) { s.eose(); s.remove(); s.hear(s.say()) }, "leak"},
		"live, before a removal that the client has not heard of": {func(s *tale) {
			s.eose()
			e := s.say()
			s.remove()
			s.hear(e)
		}, ""},
		"live, before a removal, and after a barrier": {func(s *tale) {
			s.broad()
			e := s.say()
			s.remove()
			s.barrier()
			s.hear(e)
		}, "leak"},
		"the same, when the barrier was sent before": {func(s *tale) {
			s.eose()
			e, sent := s.say(), s.ledger.now()
			s.remove()
			s.answer(sent)
			s.hear(e)
		}, ""},
		"stored, after a barrier": {func(s *tale) {
			s.open()
			e := s.say()
			s.remove()
			s.barrier()
			s.hear(e)
		}, "leak"},
		"stored, behind what is newer than the removal": {func(s *tale) {
			s.open()
			e := s.say()
			s.remove()
			s.hear(s.write(writerKey, 1), e)
		}, "leak"},
		"stored, from a time at which it was no member": {func(s *tale) {
			s.remove()
			e := s.say()
			s.put()
			s.hear(e)
			s.eose()
		}, ""},
		"live, from that time": {func(s *tale) {
			s.eose()
			s.remove()
			e := s.say()
			s.put()
			s.hear(e)
		}, "leak"},
		"an invite code":           {func(s *tale) { s.hear(s.write(adminKey, 9009, nostr.Tag{"h", "g"})) }, "leak"},
		"an event of no position":  {func(s *tale) { s.hear(newTale(s.t).say()) }, "unknown"},
		"a list of members":        {func(s *tale) { s.broad(); s.remove(); s.barrier(); s.hear(s.state(39002)) }, "leak"},
		"metadata":                 {func(s *tale) { s.broad(); s.remove(); s.barrier(); s.hear(s.state(39000)) }, ""},
		"a kind that is withdrawn": {func(s *tale) { s.eose(); e := s.say(); s.withdraw(); s.barrier(); s.hear(e) }, "leak"},

		"it goes on":                     {func(s *tale) { s.remove(); s.barrier() }, "not ended"},
		"it ends":                        {func(s *tale) { s.remove(); s.end("restricted: x"); s.barrier() }, ""},
		"it ends for nothing":            {func(s *tale) { s.end("restricted: x"); s.remove() }, "ended"},
		"it ends without the prefix":     {func(s *tale) { s.remove(); s.end("error: x") }, "ended"},
		"a frame after CLOSED":           {func(s *tale) { s.remove(); s.put(); s.end("restricted: x"); s.hear(s.say()) }, "after the end"},
		"CLOSED twice":                   {func(s *tale) { s.remove(); s.end("restricted: x"); s.end("restricted: x") }, "after the end"},
		"EOSE after CLOSED":              {func(s *tale) { s.remove(); s.end("restricted: x"); s.eose() }, "after the end"},
		"a frame after CLOSE":            {func(s *tale) { s.slot.closes(); s.hear(s.say()) }, ""},
		"a frame after CLOSE, a barrier": {func(s *tale) { s.slot.closes(); s.slot.barred = true; s.hear(s.say()) }, "after the end"},
		"a frame of another filter":      {func(s *tale) { s.hear(s.write(writerKey, 1)) }, "stale"},

		"COUNT":                          {func(s *tale) { s.say(); s.count(1, "") }, ""},
		"COUNT of too few":               {func(s *tale) { s.say(); s.count(0, "") }, "count"},
		"COUNT of too many":              {func(s *tale) { s.say(); s.count(2, "") }, "count"},
		"COUNT of what is closed":        {func(s *tale) { s.say(); s.remove(); s.count(0, "") }, "count"},
		"COUNT that is refused":          {func(s *tale) { s.remove(); s.count(0, "restricted: x") }, ""},
		"COUNT that is refused a member": {func(s *tale) { s.count(0, "restricted: x") }, "count"},

		"AUTH":                          {func(s *tale) { s.ban(); s.unban(); s.authenticate() }, ""},
		"AUTH of the banned":            {func(s *tale) { s.ban(); s.authenticate(); s.unban() }, "admitted"},
		"the end of a connection":       {func(s *tale) { s.cut() }, "cut"},
		"the end of one that is banned": {func(s *tale) { s.ban(); s.cut() }, ""},
		"an event of the banned":        {func(s *tale) { s.ban(); s.write(readerKey, 1) }, "written"},
		"an event of a stranger":        {func(s *tale) { s.restrict(); s.write(writerKey, 9, nostr.Tag{"h", "g"}) }, "written"},
		"an event of a member":          {func(s *tale) { s.restrict(); s.write(readerKey, 9, nostr.Tag{"h", "g"}) }, ""},
		"a request of who may not":      {func(s *tale) { s.write(readerKey, 9001, nostr.Tag{"h", "g"}) }, "written"},

		"an event is missing": {func(s *tale) {
			s.eose()
			first, _, last := s.say(), s.say(), s.say()
			s.hear(first, last)
		}, "missing"},
		"it was not to be seen": {func(s *tale) {
			s.broad()
			first := s.say()
			s.remove()
			s.say()
			s.put()
			s.hear(first, s.say())
		}, ""},
		"the order is another": {func(s *tale) { s.eose(); a, b := s.say(), s.say(); s.hear(b, a) }, "order"},
		"an event comes twice": {func(s *tale) { s.eose(); a := s.say(); s.hear(a, a) }, "order"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTale(t)
			tc.tale(s)
			want := map[string]int(nil)
			if tc.fault != "" {
				want = map[string]int{tc.fault: 1}
			}
			require.Equal(t, want, s.judge(false))
		})
	}
}

// A resident misses nothing from the beginning.
func TestJudgeOfResidents(t *testing.T) {
	t.Parallel()
	s := newTale(t)
	s.eose()
	s.say()
	s.hear(s.say())
	require.Equal(t, map[string]int{"missing": 1}, s.judge(true))
	require.Empty(t, s.judge(false))
}

// open makes the reader subscribe to everything; what it hears is stored.
func (s *tale) open() {
	s.slot.closes()
	s.slot.barred = true
	s.slot.opens(wire.NewFilter(nostr.Filter{}), s.ledger.now())
}

// broad is open, and what it hears is live.
func (s *tale) broad() {
	s.open()
	s.eose()
}

// state is what the relay says about the group, written before anything that
// follows.
func (s *tale) state(kind int) *wire.Event {
	return s.write(relayKey, kind, nostr.Tag{"d", "g"})
}

func (s *tale) withdraw() { s.operate(control.Row{Type: control.KindsDisallowed, Kinds: []int{9}}) }

func (s *tale) restrict() {
	s.change(control.Row{Type: control.GroupEdited, Tags: nostr.Tags{{"private"}, {"restricted"}}})
}
