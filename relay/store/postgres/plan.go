package postgres

import (
	"slices"

	"fencepost/relay/wire"
)

// The statements that find events. Each walks one index in the order of answers,
// from a cursor on, once for each key that it is given ("stream"), up to a limit for
// each. The position is no condition of an index (+ 0). $1 and $2 are the cursor, $3 the
// end of the window, $4 the position of the snapshot, $5 the limit, $6 and $7 kinds and
// authors that the index does not ensure, $8 the time: what has expired is left out.
const (
	entryOf = `SELECT e.newest, e.id, e.position FROM `
	within  = `(e.newest, e.id) >= ($1::bigint, $2::bytea) AND e.newest <= $3::bigint`
	seen    = ` AND e.position + 0 <= $4::bigint AND coalesce(e.gone, 9223372036854775807) > $4::bigint
	AND ($6::integer[] IS NULL OR e.kind = ANY ($6)) AND ($7::bytea[] IS NULL OR e.pubkey = ANY ($7))
	AND (e.expires IS NULL OR e.expires > $8::bigint)`
	ordered = ` ORDER BY e.newest, e.id LIMIT $5::bigint`

	sqlByTime = `SELECT 1::bigint, x.* FROM (` + entryOf + `events e WHERE ` + within + seen + ordered + `) x`

	sqlByKind = `SELECT k.n, x.* FROM unnest($9::integer[]) WITH ORDINALITY AS k (kind, n)
CROSS JOIN LATERAL (` + entryOf + `events e WHERE e.kind = k.kind AND ` + within + seen + ordered + `) x`

	sqlByAuthor = `SELECT k.n, x.* FROM unnest($9::bytea[]) WITH ORDINALITY AS k (pubkey, n)
CROSS JOIN LATERAL (` + entryOf + `events e WHERE e.pubkey = k.pubkey AND ` + within + seen + ordered + `) x`

	sqlByAuthorKind = `SELECT k.n, x.* FROM unnest($9::bytea[], $10::integer[]) WITH ORDINALITY AS k (pubkey, kind, n)
CROSS JOIN LATERAL (` + entryOf + `events e WHERE e.pubkey = k.pubkey AND e.kind = k.kind AND ` + within + seen + ordered + `) x`

	sqlByTag = `SELECT k.n, x.* FROM unnest($9::bytea[]) WITH ORDINALITY AS k (value, n)
CROSS JOIN LATERAL (SELECT t.newest, t.id, t.position FROM tags t JOIN events e ON e.position = t.position
	WHERE t.name = $10::smallint AND t.value = k.value
	AND (t.newest, t.id) >= ($1::bigint, $2::bytea) AND t.newest <= $3::bigint` + seen + `
	ORDER BY t.newest, t.id LIMIT $5::bigint) x`
)

// maxStreams bounds the streams of an author-and-kind plan; beyond it authors alone are
// cheaper, with kinds looked at in the rows.
const maxStreams = 2000

// plan is how to find what a filter asks for.
type plan struct {
	sql     string
	streams int
	args    []any // $9 and on
	kinds   []int32
	authors [][]byte

	exact    bool // what it finds matches, without a look at the events
	repeated bool // an event can be in several streams
}

// query is a filter in the form of columns. What can match nothing, such as an author
// that is not hex, is left out.
type query struct {
	filter  *wire.Filter
	from    int64 // first newest
	to      int64 // last newest
	ids     [][]byte
	authors [][]byte
	kinds   []int32
}

// newQuery returns not ok for a filter that no event can match.
func newQuery(f *wire.Filter) (q query, ok bool) {
	q = query{filter: f, from: -1 << 63, to: -1}
	if f.Since != nil {
		q.to = ^int64(max(*f.Since, 0))
	}
	if f.Until != nil {
		if *f.Until < 0 {
			return q, false
		}
		q.from = ^int64(*f.Until)
	}
	q.ids, q.authors = keys32(f.IDs), keys32(f.Authors)
	for _, k := range f.Kinds {
		if k >= 0 && k < 1<<16 {
			q.kinds = append(q.kinds, int32(k))
		}
	}
	for _, values := range f.Tags {
		if values != nil && len(values) == 0 {
			return q, false
		}
	}
	ok = q.from <= q.to && (!f.Searches() || len(f.Words()) > 0) &&
		(f.IDs == nil || len(q.ids) > 0) &&
		(f.Authors == nil || len(q.authors) > 0) &&
		(f.Kinds == nil || len(q.kinds) > 0)
	return q, ok
}

func keys32(list []string) (keys [][]byte) {
	for _, s := range list {
		if key, ok := decode32(s); ok {
			keys = append(keys, key[:])
		}
	}
	return keys
}

// plan chooses the index: of those that apply the one with the fewest keys to look up,
// a tag rather than authors, authors rather than kinds, and time where there is nothing
// else. A search leaves the choice to the database.
func (q *query) plan() plan {
	name, values := q.tag()
	byAuthor, byKind := q.filter.Authors != nil, q.filter.Kinds != nil
	plain := q.tagNames() == 0
	switch pairs := len(q.authors) * len(q.kinds); {
	case q.filter.Searches():
		return q.searchPlan(name, values)
	case values != nil && (!byAuthor || len(values) <= len(q.authors) && !common(name)):
		return plan{
			sql: sqlByTag, streams: len(values), args: []any{texts(values), int16(name[0])}, kinds: q.kinds, authors: q.authors,
			exact: q.tagNames() == 1 && !slices.ContainsFunc(values, func(v string) bool { return len(v) > maxText }), repeated: len(values) > 1,
		}
	case byAuthor && byKind && pairs <= maxStreams:
		p := plan{sql: sqlByAuthorKind, streams: pairs, exact: plain}
		var authors [][]byte
		var kinds []int32
		for _, a := range q.authors {
			for _, k := range q.kinds {
				authors, kinds = append(authors, a), append(kinds, k)
			}
		}
		p.args = []any{authors, kinds}
		return p
	case byAuthor:
		return plan{sql: sqlByAuthor, streams: len(q.authors), args: []any{q.authors}, kinds: q.kinds, exact: plain}
	case byKind:
		return plan{sql: sqlByKind, streams: len(q.kinds), args: []any{q.kinds}, exact: plain}
	default:
		return plan{sql: sqlByTime, streams: 1, exact: plain}
	}
}

// tagNames returns how many names of tags the filter has conditions on.
func (q *query) tagNames() (n int) {
	for _, list := range q.filter.Tags {
		if list != nil {
			n++
		}
	}
	return n
}

func texts(values []string) [][]byte {
	list := make([][]byte, len(values))
	for i, v := range values {
		list[i] = text(v)
	}
	return list
}

// tag returns the indexed tag with the fewest values, of several the one whose values
// are rarer by nature; nil where there is none.
func (q *query) tag() (name string, values []string) {
	for n, list := range q.filter.Tags {
		if list == nil || !indexed(n) {
			continue
		}
		if values == nil || better(n, list, name, values) {
			name, values = n, list
		}
	}
	return name, values
}

func better(a string, as []string, b string, bs []string) bool {
	switch {
	case common(a) != common(b):
		return common(b)
	case len(as) != len(bs):
		return len(as) < len(bs)
	default:
		return a < b
	}
}

// common reports whether a value of this tag is likely to be that of very many events:
// topics, keys, kinds, labels.
func common(name string) bool {
	return slices.Contains([]string{"t", "p", "k", "l", "L", "K", "P"}, name)
}
