package index

import (
	"cmp"
	"slices"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

// scratch is the working memory of one lookup.
type scratch struct {
	hit    []bucket
	shared []*filing
}

// Candidates appends to dst the handles whose filters could match ev, each once,
// in no order. It takes time in proportion to the event's tags and to what it
// appends, and allocates nothing but dst's growth (BenchmarkCandidates).
func (x *Index) Candidates(dst []*lifecycle.Handle, ev *wire.Event) []*lifecycle.Handle {
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)
	s.hit = x.hits(s.hit[:0], ev)
	s.shared = s.shared[:0]
	for _, b := range s.hit {
		dst, s.shared = b.collect(dst, s.shared, len(s.hit) > 1)
	}
	dst = appendOnce(dst, s.shared)
	clear(s.hit)
	clear(s.shared)
	return dst
}

// hits appends the buckets that ev's fields name, each once, although tags may
// repeat.
func (x *Index) hits(dst []bucket, ev *wire.Event) []bucket {
	dst = x.appendBucket(dst, key{field: byID, value: ev.ID})
	dst = x.appendBucket(dst, key{field: byAuthor, value: ev.PubKey})
	dst = x.appendBucket(dst, key{field: byKind, kind: int32(ev.Kind)})
	dst = x.appendBucket(dst, key{field: open})
	tags := len(dst)
	for _, t := range ev.Tags {
		if len(t) > 1 && len(t[0]) == 1 {
			dst = x.appendBucket(dst, key{field: byTag, letter: t[0][0], value: t[1]})
		}
	}
	if len(dst)-tags < 2 {
		return dst
	}
	slices.SortFunc(dst[tags:], func(a, b bucket) int { return cmp.Compare(a.serial(), b.serial()) })
	once := slices.CompactFunc(dst[tags:], func(a, b bucket) bool { return a.serial() == b.serial() })
	return dst[:tags+len(once)]
}

func (x *Index) appendBucket(dst []bucket, k key) []bucket {
	if b, ok := x.buckets.Load(k); ok {
		dst = append(dst, b)
	}
	return dst
}

// appendOnce appends the handles of filings that several buckets may have
// given. It sorts by serial and not by a mark on the filing, because lookups run
// side by side.
func appendOnce(dst []*lifecycle.Handle, shared []*filing) []*lifecycle.Handle {
	slices.SortFunc(shared, func(a, b *filing) int { return cmp.Compare(a.serial, b.serial) })
	for i, f := range shared {
		if i == 0 || f != shared[i-1] {
			dst = append(dst, f.handle)
		}
	}
	return dst
}
