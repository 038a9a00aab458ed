package storm_test

import (
	"cmp"
	"slices"
	"strings"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// judge compares what connections saw with who was allowed what.
type judge struct {
	*history
	ledger   *ledger
	problems problems
	tally    tally
}

// tally is what was looked at.
type tally struct {
	frames, live, private int // EVENT frames; those certainly live; those of a private group
	ended, barriers       int // subscriptions that the relay ended; barriers
	counts, cut, judged   int // COUNTs; connections that ended; events looked for among live frames
}

// record judges one connection. resident: it was a member of all groups all the
// time.
func (j *judge) record(r *record, resident bool) {
	least := 0
	live := map[*generation][]int{} // indexes of notes
	for i := range r.notes {
		n := &r.notes[i]
		least = max(least, j.least(n.floor))
		most := j.most(n.at)
		switch n.kind {
		case gotEvent:
			p, ok := j.position(n.event)
			if !ok {
				j.problems.add("unknown", "%s received %s, which is not in the log", r.name, n.event.ID)
				continue
			}
			// The relay had come as far as p when it sent this, and stays there.
			least = max(least, j.before(p))
			j.frame(r, n, p, least, most)
			if n.live {
				live[n.generation] = append(live[n.generation], i)
			}
		case gotClosed:
			j.closed(r, n, most)
		case gotBarrier:
			j.barrier(r, n, least, most)
		case gotCount:
			j.count(r, n, max(least, j.least(n.sent)), most)
		case gotEnd:
			j.tally.cut++
			if !j.any(0, most, func(f *fold) bool { return f.banned[r.key] }) {
				j.problems.add("cut", "%s: %s", r.name, n.text)
			}
		}
	}
	if r.authed != never && !j.any(j.least(r.authSent), j.most(r.authed), func(f *fold) bool { return !f.banned[r.key] }) {
		j.problems.add("admitted", "%s authenticated while its key was banned", r.name)
	}
	for g, notes := range live {
		j.complete(r, g, notes, resident)
	}
}

// frame says whether the reader may have been sent an event: at its position when
// it was live, and in some state that the relay can have been in.
func (j *judge) frame(r *record, n *note, p store.Position, least, most int) {
	j.tally.frames++
	at := &j.states[j.before(p)]
	if !at.allows(j.self, "", n.event) {
		j.tally.private++
	}
	if n.live {
		j.tally.live++
		if !at.allows(j.self, r.key, n.event) {
			j.problems.add("leak", "%s was sent %s of position %d, at which it was not allowed", r.name, n.event.ID, p)
			return
		}
	}
	if !j.any(least, most, func(f *fold) bool { return f.allows(j.self, r.key, n.event) }) {
		j.problems.add("leak", "%s was sent %s of position %d in states %d to %d, none of which allows it",
			r.name, n.event.ID, p, least, most)
	}
}

// closed says whether the end of a subscription had a reason, and a right one.
func (j *judge) closed(r *record, n *note, most int) {
	j.tally.ended++
	least := j.least(n.generation.sent)
	banned := j.any(least, most, func(f *fold) bool { return f.banned[r.key] })
	if !banned && !j.any(least, most, func(f *fold) bool { return f.closed(r.key, n.generation.filter) }) {
		j.problems.add("ended", "%s: %s ended with %q, which it had not lost", r.name, wire.AppendFilter(nil, n.generation.filter), n.text)
	}
	said := strings.HasPrefix(n.text, "restricted: ") || r.key == "" && strings.HasPrefix(n.text, "auth-required: ")
	if !banned && !said {
		j.problems.add("ended", "%s was told %q", r.name, n.text)
	}
}

// barrier says whether a subscription goes on of which nothing is left.
func (j *judge) barrier(r *record, n *note, least, most int) {
	j.tally.barriers++
	for _, g := range n.open {
		if !j.any(least, most, func(f *fold) bool { return f.banned[r.key] || !f.closed(r.key, g.filter) }) {
			j.problems.add("not ended", "%s: %s goes on", r.name, wire.AppendFilter(nil, g.filter))
		}
	}
}

// count says whether the answer to a COUNT can be right.
func (j *judge) count(r *record, n *note, least, most int) {
	j.tally.counts++
	refusable := j.any(least, most, func(f *fold) bool { return f.banned[r.key] || f.closed(r.key, n.filter) })
	if n.text != "" {
		if !refusable && !strings.HasPrefix(n.text, "error: permissions changed") {
			j.problems.add("count", "%s: COUNT was refused with %q", r.name, n.text)
		}
		return
	}
	// 0 is no refusal: that there is nothing is true in no state in which it is closed.
	if !j.any(least, most, func(f *fold) bool { return f.banned[r.key] || !f.closed(r.key, n.filter) }) {
		j.problems.add("count", "%s: COUNT of what is closed gave %d", r.name, n.count)
	}
	low, high := 0, 0
	asked, ever, always := false, false, false // what holds for one event of a group holds for all
	for _, e := range j.events {
		if !n.filter.Matches(e.event) {
			continue
		}
		if !asked {
			sees := func(f *fold) bool { return f.allows(j.self, r.key, e.event) }
			asked, ever = true, j.any(least, most, sees)
			always = !j.any(least, most, func(f *fold) bool { return !sees(f) })
		}
		if ever {
			high++
		}
		if accepted, ok := j.ledger.accepted[e.event.ID]; ok && accepted < n.sent && always {
			low++
		}
	}
	if n.count < low || n.count > high {
		j.problems.add("count", "%s: COUNT gave %d, it sees from %d to %d", r.name, n.count, low, high)
	}
}

// complete looks for what a subscription has missed between the live frames that
// it got: an event is excused when the reader may not have been allowed to see it
// from its position on until the next frame came. A resident is excused nothing
// that was published in the storm.
func (j *judge) complete(r *record, g *generation, notes []int, resident bool) {
	at := make([]store.Position, len(notes))
	for i, n := range notes {
		at[i], _ = j.position(r.notes[n].event)
		if i > 0 && at[i] <= at[i-1] {
			j.problems.add("order", "%s was sent position %d after %d", r.name, at[i], at[i-1])
			return
		}
	}
	events := j.events
	if !resident {
		begin, _ := slices.BinarySearchFunc(events, at[0], func(e logged, p store.Position) int { return cmp.Compare(e.position, p) })
		events = events[begin:]
	}
	for _, e := range events {
		if e.position > at[len(at)-1] {
			break
		}
		next, found := slices.BinarySearch(at, e.position)
		published := e.event.Kind == 1 || e.event.Kind == 9
		if next == 0 && (!resident || !published) || !g.filter.Matches(e.event) {
			continue
		}
		j.tally.judged++
		most := j.most(r.notes[notes[next]].at)
		if found || j.any(j.before(e.position), most, func(f *fold) bool { return !f.allows(j.self, r.key, e.event) }) {
			continue
		}
		j.problems.add("missing", "%s was not sent %s of position %d", r.name, e.event.ID, e.position)
	}
}

// written says whether each event may have been written where it stands.
func (j *judge) written() {
	for _, e := range j.events {
		if !j.states[j.before(e.position)].accepts(j.self, e.event) {
			j.problems.add("written", "%s of kind %d stands at %d, where its author may not write", e.event.ID, e.event.Kind, e.position)
		}
	}
}
