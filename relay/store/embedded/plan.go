package embedded

import (
	"context"
	"math"

	"fencepost/relay/wire"
)

// maxStreams bounds the streams of an author-and-kind plan; beyond it the plan
// by author alone, which checks kinds in the entries, is cheaper to begin.
const maxStreams = 5000

// fewStreams is how many streams a plan may have that is taken without a look at
// the others if it is exact. No other plan can save much: it reads an event for
// each match, and to look at both would cost about as many seeks.
const fewStreams = 16

// plan is one way to find what a filter asks for: the streams to merge.
type plan struct {
	prefixes [][]byte
	exact    bool      // every entry matches
	covered  bool      // the entry and its kind decide; the event need not be read
	begun    []*stream // of these, to go on with: what was read to choose the plan
}

// query is a filter in the binary form of keys. What can match nothing, such as
// an author that is not hex, is left out.
type query struct {
	filter  *wire.Filter
	window  window
	authors [][32]byte
	kinds   []uint16
	words   bool // the index of words can be asked
}

// newQuery returns not ok for a filter that no event can match.
func newQuery(f *wire.Filter) (q query, ok bool) {
	q = query{filter: f, window: window{until: math.MaxInt64}}
	if f.Since != nil {
		q.window.since = uint64(max(*f.Since, 0))
	}
	if f.Until != nil {
		if *f.Until < 0 {
			return q, false
		}
		q.window.until = uint64(*f.Until)
	}
	for _, a := range f.Authors {
		if key, ok := decode32(a); ok {
			q.authors = append(q.authors, key)
		}
	}
	for _, k := range f.Kinds {
		if k >= 0 && k < 1<<16 {
			q.kinds = append(q.kinds, uint16(k))
		}
	}
	for _, values := range f.Tags {
		if values != nil && len(values) == 0 {
			return q, false
		}
	}
	ok = q.window.since <= q.window.until && (!f.Searches() || len(f.Words()) > 0) &&
		(f.IDs == nil || len(f.IDs) > 0) &&
		(f.Authors == nil || len(q.authors) > 0) &&
		(f.Kinds == nil || len(q.kinds) > 0)
	return q, ok
}

// plan chooses how to find up to want events.
func (q *query) plan(ctx context.Context, r *reader, want int) (plan, error) {
	candidates := q.candidates()
	if len(candidates) == 1 {
		return candidates[0], nil
	}
	for _, p := range candidates {
		if p.exact && len(p.prefixes) <= fewStreams {
			return p, nil
		}
	}
	return cheapest(ctx, r, candidates, q.window, want)
}

// candidates returns every plan that finds all matches; the whole time index is
// one only where nothing else is.
func (q *query) candidates() (all []plan) {
	f := q.filter
	byAuthor, byKind := f.Authors != nil, f.Kinds != nil
	for name, values := range f.Tags {
		if values != nil && indexed(name) {
			all = append(all, q.byTag(name, values))
		}
	}
	if q.words {
		all = q.byWords()
	}
	tags := q.hasTags() || f.Searches() // what the entry does not decide
	both := byAuthor && byKind && len(q.authors)*len(q.kinds) <= maxStreams
	if both {
		p := plan{exact: !tags, covered: !tags}
		for _, a := range q.authors {
			for _, k := range q.kinds {
				p.prefixes = append(p.prefixes, authorKindPrefix(nil, a, k))
			}
		}
		all = append(all, p)
	}
	if byAuthor && !(both && len(q.kinds) == 1) { // as many streams, longer ones
		p := plan{exact: !tags && !byKind, covered: !tags}
		for _, a := range q.authors {
			p.prefixes = append(p.prefixes, authorPrefix(nil, a))
		}
		all = append(all, p)
	}
	if byKind {
		p := plan{exact: !tags && !byAuthor, covered: !tags && !byAuthor}
		for _, k := range q.kinds {
			p.prefixes = append(p.prefixes, kindPrefix(nil, k))
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		all = append(all, plan{prefixes: [][]byte{{spaceTime}}, exact: !tags, covered: !tags})
	}
	return all
}

func (q *query) byTag(name string, values []string) plan {
	p := plan{covered: q.filter.Authors == nil && q.tagNames() == 1 && !q.filter.Searches()}
	for _, v := range values {
		p.prefixes = append(p.prefixes, tagPrefix(nil, name[0], v))
		if len(v) > maxText {
			p.covered = false // the key has a hash of it
		}
	}
	p.exact = p.covered && q.filter.Kinds == nil
	return p
}

// byWords returns a plan for each word; the events of one are looked at for the others.
func (q *query) byWords() (all []plan) {
	words := q.filter.Words()
	for _, w := range words {
		p := plan{prefixes: [][]byte{wordPrefix(nil, w)}}
		p.covered = len(words) == 1 && q.filter.Authors == nil && !q.hasTags()
		p.exact = p.covered && q.filter.Kinds == nil
		all = append(all, p)
	}
	return all
}

func (q *query) hasTags() bool { return q.tagNames() > 0 }

func (q *query) tagNames() (n int) {
	for _, values := range q.filter.Tags {
		if values != nil {
			n++
		}
	}
	return n
}
