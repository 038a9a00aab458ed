package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/regress/cluster"
	"fencepost/relay/wire"
)

// story is a run that is told instead of happening. It is in order until it is
// spoiled.
type story struct {
	t       *testing.T
	log     *cluster.Log
	ledger  *cluster.Ledger
	session *cluster.Session
	events  []*wire.Event
	clock   time.Time
}

func newStory(t *testing.T) *story {
	return &story{
		t: t, log: cluster.EmptyLog(), ledger: cluster.NewLedger(), clock: time.Unix(1, 0),
		session: &cluster.Session{Filter: wire.NewFilter(nostr.Filter{})},
	}
}

func (s *story) now() time.Time {
	s.clock = s.clock.Add(time.Second)
	return s.clock
}

// publish has an event accepted at the next position.
func (s *story) publish(kind int) *wire.Event {
	e, err := cluster.Event(1, kind, fmt.Sprint(len(s.events)))
	require.NoError(s.t, err)
	s.events = append(s.events, e)
	s.ledger.Note(cluster.Sent{Event: e, Replica: 1, First: s.now(), Accepted: s.now()})
	s.log.Add(e.ID)
	return e
}

func (s *story) hear(events ...*wire.Event) {
	for _, e := range events {
		s.session.Heard = append(s.session.Heard, cluster.Heard{Event: e, At: s.now(), Live: !s.session.Live.IsZero()})
	}
}

func (s *story) eose() { s.session.Live = s.now() }

func (s *story) verdict() *cluster.Verdict {
	return cluster.Check(s.log, s.ledger, []*cluster.Subscriber{{Sessions: []*cluster.Session{s.session}}})
}

// TestCheck tells stories with one fault each, and their nearest harmless neighbours.
func TestCheck(t *testing.T) {
	t.Parallel()
	const ephemeral = fleeting
	for name, tc := range map[string]struct {
		tell  func(s *story)
		fault string // how the violation begins, "" for none
	}{
		"stored, then live": {func(s *story) {
			a := s.publish(note)
			s.hear(a)
			s.eose()
			s.hear(s.publish(note), s.publish(note))
		}, ""},
		"an accepted event is not in the log": {func(s *story) { s.log.Drop(s.publish(note).ID) }, "lost"},
		"an event that nobody accepted is not in the log": {func(s *story) {
			e := s.publish(note)
			s.log.Drop(e.ID)
			s.ledger.Note(cluster.Sent{Event: e})
		}, ""},
		"an event is in the log twice": {func(s *story) { s.log.Add(s.publish(note).ID) }, "twice"},
		"a frame comes twice":          {func(s *story) { s.eose(); a := s.publish(note); s.hear(a, a) }, "twice"},
		"stored and live": {func(s *story) {
			a := s.publish(note)
			s.hear(a)
			s.eose()
			s.hear(a)
		}, "twice"},
		"live out of order":           {func(s *story) { s.eose(); a, b := s.publish(note), s.publish(note); s.hear(b, a) }, "order"},
		"stored in the relay's order": {func(s *story) { a, b := s.publish(note), s.publish(note); s.hear(b, a); s.eose() }, ""},
		"one is missing between two": {func(s *story) {
			s.eose()
			a, _, b := s.publish(note), s.publish(note), s.publish(note)
			s.hear(a, b)
		}, "missing"},
		"one is missing at the seam": {func(s *story) { s.publish(note); s.eose(); s.hear(s.publish(note)) }, "missing"},
		"it ended before":            {func(s *story) { s.eose(); s.hear(s.publish(note)); s.publish(note) }, ""},
		"it ended before EOSE":       {func(s *story) { s.publish(note); s.hear(s.publish(note)) }, ""},
		"a frame of no event": {func(s *story) {
			s.eose()
			e := s.publish(note)
			s.log.Drop(e.ID)
			s.ledger.Note(cluster.Sent{Event: e})
			s.hear(e)
		}, "unknown"},
		"a frame of another filter": {func(s *story) {
			s.session.Filter = wire.NewFilter(nostr.Filter{Kinds: []int{7}})
			s.eose()
			s.hear(s.publish(note))
		}, "stale"},
		"what is ephemeral comes as stored": {func(s *story) { s.hear(s.publish(ephemeral)); s.eose() }, "stored"},
		"what was ephemeral is gone":        {func(s *story) { s.publish(ephemeral); s.eose(); s.hear(s.publish(ephemeral)) }, ""},
		"an ephemeral event is missing":     {func(s *story) { s.eose(); s.publish(ephemeral); s.hear(s.publish(note)) }, "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			tc.tell(s)
			found := s.verdict().Violations
			if tc.fault == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1, found)
			require.Regexp(t, "^"+tc.fault+": ", found[0])
		})
	}
}
