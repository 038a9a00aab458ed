package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// set names events that are always the same for one seed and one base, the time
// of the newest.
type set struct {
	name  string
	count int
	draft func(d *drafter, i int) draft
}

// draft is an event before it is signed.
type draft struct {
	event nostr.Event
	key   string // 64 hex digits
}

// drafter makes the events of a set.
type drafter struct {
	set  string
	seed uint64
	base int64 // Unix seconds
	n    int   // events in the set
}

// random returns numbers of event i's own.
func (d *drafter) random(i int) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(d.set)) // never fails
	return rand.New(rand.NewPCG(d.seed^h.Sum64(), uint64(i)))
}

// event returns event i without tags, a second younger than the one before.
func (d *drafter) event(i, kind int, content string) nostr.Event {
	return nostr.Event{Kind: kind, Content: content, Tags: nostr.Tags{}, CreatedAt: nostr.Timestamp(d.base - int64(d.n-1-i))}
}

// secret returns the secret key of author n of a run.
func secret(seed uint64, n int) string { return digest(seed, "author", n) }

// stranger returns what looks like the public key of somebody who never writes.
func stranger(seed uint64, n int) string { return digest(seed, "stranger", n) }

func digest(seed uint64, what string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "fencepost bench %d %s %d", seed, what, n))
	return hex.EncodeToString(sum[:])
}

// Authors and their kinds. The sets have different ones, so that a query about
// stored events finds none of another row.
const (
	plainAuthors = 100
	storedFirst  = 1_000_000 // number of the first author of stored events
	fanFirst     = 2_000_000 // and of the events of few
)

// plain are events of some 350 bytes.
func plain(name string, count int) set {
	return set{name, count, func(d *drafter, i int) draft {
		return draft{d.event(i, 1, fmt.Sprintf("%s %d", d.set, i)), secret(d.seed, i%plainAuthors)}
	}}
}

// marked are events of some 480 bytes that carry the set's name as a t tag.
func marked(name string, count int) set {
	return set{name, count, func(d *drafter, i int) draft {
		ev := d.event(i, 1, padded(fmt.Sprintf("%s %d", d.set, i), 90))
		ev.Tags = append(ev.Tags, nostr.Tag{"t", mark(d.seed, d.set)})
		return draft{ev, secret(d.seed, i%plainAuthors)}
	}}
}

// mark is a tag value of one set's own.
func mark(seed uint64, set string) string { return fmt.Sprintf("bench-%s-%d", set, seed) }

func padded(s string, n int) string { return s + strings.Repeat(".", max(0, n-len(s))) }

// Shares of stored events.
const (
	eventsPerAuthor  = 50
	eventsPerMention = 21
)

// stored are events that queries are about: as many authors as make 50 events
// each, seven tenths of kind 1, and each a p tag that about 21 have in common.
func stored(name string, count int) set {
	authors, mentions := max(1, count/eventsPerAuthor), max(1, count/eventsPerMention)
	return set{name, count, func(d *drafter, i int) draft {
		random := d.random(i)
		kind := []int{1, 1, 1, 1, 1, 1, 1, 7, 7, 6}[random.IntN(10)]
		ev := d.event(i, kind, padded(fmt.Sprintf("%s %d", d.set, i), 40+random.IntN(60)))
		ev.Tags = append(ev.Tags, nostr.Tag{"p", stranger(d.seed, random.IntN(mentions))})
		return draft{ev, secret(d.seed, storedFirst+i%authors)}
	}}
}

// Pools that diverse subscriptions and the events for them draw from, for 5,000
// subscriptions; they grow with these.
const (
	fanAuthors  = 500
	fanMentions = 166
	fanTopics   = 166
	everything  = 9 // subscriptions that every event matches
)

// pools returns the sizes of the pools for so many subscriptions.
func pools(subscriptions int) (authors, mentions, topics int) {
	of := func(n int) int { return max(1, n*subscriptions/5000) }
	return of(fanAuthors), of(fanMentions), of(fanTopics)
}

// varied are events of some 500 bytes, of many authors, about many people and
// topics.
func varied(name string, count, subscriptions int) set {
	authors, mentions, topics := pools(subscriptions)
	return set{name, count, func(d *drafter, i int) draft {
		random := d.random(i)
		ev := d.event(i, 1, padded(fmt.Sprintf("%s %d", d.set, i), 60))
		ev.Tags = append(
			ev.Tags,
			nostr.Tag{"p", stranger(d.seed, fanFirst+random.IntN(mentions))},
			nostr.Tag{"t", topic(d.seed, random.IntN(topics))},
		)
		return draft{ev, secret(d.seed, fanFirst+random.IntN(authors))}
	}}
}

func topic(seed uint64, n int) string { return fmt.Sprintf("topic-%d-%d", seed, n) }

// diverse returns subscription i of n for varied events: nine take everything of
// kind 1; of the others a third asks for three authors each, a third for mentions,
// a sixth for two topics, and a sixth for what never comes.
func diverse(seed uint64, i, n int, key func(int) string) nostr.Filter {
	authors, mentions, topics := pools(n)
	f := nostr.Filter{Limit: 1}
	switch {
	case i < everything:
		f.Kinds = []int{1}
	case i%6 < 2:
		f.Kinds = []int{1, 6, 7}
		for k := range 3 {
			f.Authors = append(f.Authors, key(fanFirst+(i*3+k)%authors))
		}
	case i%6 < 4:
		f.Kinds = []int{1, 9735}
		f.Tags = nostr.TagMap{"p": {stranger(seed, fanFirst+i%mentions)}}
	case i%6 == 4:
		f.Tags = nostr.TagMap{"t": {topic(seed, i/6%topics), topic(seed, (i/6+topics/2)%topics)}}
	case i%12 == 5:
		f.IDs = []string{stranger(seed, i)}
	default:
		f.Kinds = []int{30_000 + i%1000}
	}
	return f
}
