package bench

import (
	"context"
	"net"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// Messages reads all messages that come over a connection, until its end.
func Messages(conn net.Conn) (out []string, err error) {
	l := &link{conn: conn, in: make([]byte, firstBuffer)}
	for {
		m, err := l.next()
		if err != nil {
			return out, err
		}
		out = append(out, string(m))
	}
}

// Frame returns one message as a client sends it.
func Frame(payload []byte, mask [4]byte) []byte { return appendFrame(nil, opText, payload, mask) }

// Script returns the messages from..to-1 of all, framed one after another.
func Script(all []string, from, to int) []byte {
	var s script
	for _, m := range all {
		s.add([]byte(m))
	}
	return s.slice(from, to)
}

// Parsed is what parse and its followers say about a message.
type Parsed struct {
	OK       bool
	Verb     string // "" for one that does not matter
	Name     string
	ID       string // EVENT
	Accepted bool   // OK
	Text     string // OK, CLOSED
}

// Parse takes a message apart.
func Parse(data []byte) (out Parsed) {
	m, ok := parse(data)
	out.OK = ok
	out.Verb = [...]string{"", "EVENT", "OK", "EOSE", "CLOSED", "NOTICE"}[m.verb]
	out.Name = string(m.name)
	switch m.verb {
	case verbEvent:
		id, _ := m.eventID()
		out.ID = string(id)
	case verbOK, verbClosed:
		var reason []byte
		out.Accepted, reason, _ = m.verdict()
		out.Text = string(reason)
	}
	return out
}

// Cached loads the events of a set whose texts begin with name and says whether
// they had to be signed.
func Cached(ctx context.Context, dir, name string, count int, seed uint64, now time.Time) (events []*wire.Event, made bool, err error) {
	c := &cache{dir: dir, seed: seed, now: func() time.Time { return now }, say: func(string) { made = true }}
	s, err := c.load(ctx, plain(name, count))
	if err != nil {
		return nil, made, err
	}
	return decoded(s), made, nil
}

func decoded(s *signed) (out []*wire.Event) {
	for i := range s.lines {
		ev, err := s.event(i)
		if err != nil {
			panic(err)
		}
		out = append(out, ev)
	}
	return out
}

// Drafts returns the events of a kind of set, unsigned.
func Drafts(kind string, count, subscriptions int) (out []*wire.Event) {
	s := map[string]set{
		"plain": plain("plain-0", count), "marked": marked("marked-0", count),
		"stored": stored("stored", count), "varied": varied("varied-0", count, subscriptions),
	}[kind]
	d := &drafter{set: s.name, seed: 1, base: 1_800_000_000, n: count}
	sig := make([]byte, 128)
	for i := range sig {
		sig[i] = '0'
	}
	for i := range count {
		draft := s.draft(d, i)
		draft.event.PubKey, draft.event.Sig = draft.key, string(sig) // as long as the real ones
		draft.event.ID = draft.event.GetID()
		out = append(out, wire.NewEvent(draft.event))
	}
	return out
}

// Diverse returns the filters of n diverse subscriptions for events of Drafts.
func Diverse(n int) (out []*wire.Filter) {
	for i := range n {
		out = append(out, wire.NewFilter(diverse(1, i, n, func(k int) string { return secret(1, k) })))
	}
	return out
}

// Finder returns what finds the numbers of the filters that match an event.
func Finder(filters []*wire.Filter) func(ev *wire.Event) []int {
	f := newFinder([]*subscriber{{filters: filters}})
	return func(ev *wire.Event) (out []int) {
		for _, s := range f.find(ev) {
			out = append(out, s.number)
		}
		return out
	}
}

// Question is what an asker asks and how many events it expects.
type Question struct {
	Filter nostr.Filter
	Want   int
}

// Questions returns one of each kind about the events.
func Questions(events []*wire.Event, seed uint64) (out []Question, err error) {
	s := &signed{}
	for _, ev := range events {
		s.lines = append(s.lines, ev.Raw())
	}
	l, err := catalogue(s)
	if err != nil {
		return nil, err
	}
	random := (&drafter{set: "questions", seed: seed}).random(0)
	for _, ask := range []func() question{
		func() question { return askAuthors(l, random) },
		func() question { return askMentions(l, random) },
		func() question { return askKind(l, random) },
		func() question { return askID(l, random) },
		func() question { return askIDs(l, random) },
	} {
		q := ask()
		out = append(out, Question{q.filter, q.want})
	}
	return out, nil
}

// Judge makes the verdicts of a report.
func (r *Report) Judge() { r.judge() }

// CPU returns what a process has used so far.
func CPU(pid int) (time.Duration, error) {
	p, err := openProcess(pid)
	if err != nil {
		return 0, err
	}
	return p.cpu()
}

// Memory returns what a process has resident.
func Memory(pid int) (rss, pss int64, err error) {
	p, err := openProcess(pid)
	if err != nil {
		return 0, 0, err
	}
	return p.memory()
}

// OnThread is onThread.
var OnThread = onThread
