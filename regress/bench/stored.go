package bench

import (
	"math/rand/v2"
	"slices"

	"github.com/nbd-wtf/go-nostr"
)

// library knows what is stored, so that it can be said how many events answer a
// question.
type library struct {
	ids      []string
	authors  []string       // in order of appearance
	mentions []string       // values of p tags, likewise
	notes    map[string]int // author -> events of kind 1
	about    map[string]int // value of p -> events
	kind1    int
}

func catalogue(events *signed) (*library, error) {
	l := &library{notes: make(map[string]int), about: make(map[string]int)}
	for i := range events.lines {
		ev, err := events.event(i)
		if err != nil {
			return nil, err
		}
		l.ids = append(l.ids, ev.ID)
		if _, ok := l.notes[ev.PubKey]; !ok {
			l.authors = append(l.authors, ev.PubKey)
			l.notes[ev.PubKey] = 0
		}
		if ev.Kind == 1 {
			l.kind1++
			l.notes[ev.PubKey]++
		}
		p, _ := ev.Tag("p")
		if l.about[p]++; l.about[p] == 1 {
			l.mentions = append(l.mentions, p)
		}
	}
	return l, nil
}

// question is a REQ and how many events answer it.
type question struct {
	filter nostr.Filter
	want   int
}

func askAuthors(l *library, random *rand.Rand) question {
	q := question{filter: nostr.Filter{Authors: pick(random, l.authors, 10), Kinds: []int{1}, Limit: 100}}
	for _, a := range q.filter.Authors {
		q.want += l.notes[a]
	}
	q.want = min(q.want, q.filter.Limit)
	return q
}

func askMentions(l *library, random *rand.Rand) question {
	values := pick(random, l.mentions, 1)
	return question{
		filter: nostr.Filter{Tags: nostr.TagMap{"p": values}, Limit: 100},
		want:   min(l.about[values[0]], 100),
	}
}

// askKind asks for the newest, which another row may have published meanwhile.
func askKind(l *library, _ *rand.Rand) question {
	return question{filter: nostr.Filter{Kinds: []int{1}, Limit: 500}, want: min(l.kind1, 500)}
}

func askID(l *library, random *rand.Rand) question  { return askFor(pick(random, l.ids, 1)) }
func askIDs(l *library, random *rand.Rand) question { return askFor(pick(random, l.ids, 20)) }

func askFor(ids []string) question {
	return question{filter: nostr.Filter{IDs: ids, Limit: len(ids)}, want: len(ids)}
}

// pick returns up to n different ones of list.
func pick(random *rand.Rand, list []string, n int) (out []string) {
	for n = min(n, len(list)); len(out) < n; {
		if v := list[random.IntN(len(list))]; !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
