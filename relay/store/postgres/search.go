package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// sqlSearch finds by words ($9), and by a tag ($10, $11) where there is one. The database
// chooses between the index of words, for rare ones, and that of the other conditions or
// of time, from which frequent words are soon found; it knows how frequent they are.
const sqlSearch = `SELECT 1::bigint, e.newest, e.id, e.position FROM search s JOIN events e ON e.position = s.position
WHERE s.words @@ $9::text::tsquery AND ` + within + seen + `
	AND ($10::bytea[] IS NULL OR EXISTS (SELECT 1 FROM tags t WHERE t.name = $11::smallint AND t.value = ANY ($10)
		AND t.newest = e.newest AND t.id = e.id AND t.position = e.position))` + ordered

// sqlFree lets one transaction read what sqlSearch needs: bitmaps, which the index of
// words is made for, and a sort; and a plan for just these words.
const sqlFree = `SELECT set_config('enable_bitmapscan', 'on', true), set_config('enable_sort', 'on', true),
	set_config('plan_cache_mode', 'force_custom_plan', true)`

// maxSearchChunk is how many entries one search asks for at most. The next one looks at
// all matches anew, so it asks for as many as are likely to be wanted.
const maxSearchChunk = 5000

// searchChunk returns how many entries a search asks for of which left more may be given.
func searchChunk(left int) int { return min(max(left, store.SearchDepth-1), maxSearchChunk-1) + 1 }

// Searches implements store.Store.
func (s *Store) Searches() bool { return true }

func (q *query) searchPlan(name string, values []string) plan {
	p := plan{sql: sqlSearch, streams: 1, kinds: q.kinds, authors: q.authors}
	var letter int16
	var list [][]byte
	if values != nil {
		letter, list = int16(name[0]), texts(values)
	}
	// A word is letters and digits: nothing to escape.
	p.args = []any{"'" + strings.Join(q.filter.Words(), "' & '") + "'", list, letter}
	return p
}

// free prepares a batch in which sqlSearch runs; bind ends it.
func free(b *pgx.Batch) {
	b.Queue("BEGIN READ ONLY")
	b.Queue(sqlFree)
}

// scored is a match and how well it answers.
type scored struct {
	entry
	score float64
}

// ranking is what the filters that search contribute to an answer, best first.
type ranking struct {
	snapshot *snapshot
	walks    []*walk
	visible  func(*wire.Event) bool

	begun bool
	left  []scored
	given map[int64]struct{} // positions of all that are or were in left
	more  bool               // a limit hides a match
}

// has reports whether the event at a position is in the ranking.
func (r *ranking) has(position int64) bool {
	_, ok := r.given[position]
	return ok
}

// rank finds the candidates of each filter and orders what their limits leave.
func (r *ranking) rank(ctx context.Context) error {
	r.begun, r.given = true, make(map[int64]struct{})
	best := make(map[int64]scored)
	for _, w := range r.walks {
		found, err := r.candidates(ctx, w)
		if err != nil {
			return err
		}
		slices.SortFunc(found, compareScored)
		if len(found) > w.left {
			found, r.more = found[:w.left], true
		}
		for _, s := range found {
			if known, ok := best[s.position]; !ok || known.score < s.score {
				best[s.position] = s
			}
		}
	}
	for position, s := range best {
		r.left = append(r.left, s)
		r.given[position] = struct{}{}
	}
	slices.SortFunc(r.left, compareScored)
	return nil
}

// candidates returns the newest visible matches of w: as many as the limit, one more to
// see whether it hides something, and store.SearchDepth at least. Events are let go.
func (r *ranking) candidates(ctx context.Context, w *walk) (found []scored, err error) {
	depth := store.SearchDepth
	if w.left >= depth {
		depth = w.left
		if depth < int(^uint(0)>>1) {
			depth++
		}
	}
	for len(found) < depth {
		if err := r.snapshot.ready(ctx); err != nil {
			return nil, err
		}
		head, err := w.head(ctx)
		if err != nil {
			return nil, err
		}
		if head == nil {
			return found, nil
		}
		if r.visible == nil || r.visible(head.event) {
			found = append(found, scored{entry: head.entry, score: w.filter.Score(head.event)})
		}
		w.pop(false)
	}
	return found, nil
}

func compareScored(a, b scored) int {
	switch {
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	default:
		return compareEntries(a.entry, b.entry)
	}
}

// next appends up to limit records.
func (r *ranking) next(ctx context.Context, dst []store.Record, limit int) ([]store.Record, error) {
	if !r.begun && len(r.walks) > 0 {
		if err := r.rank(ctx); err != nil {
			return dst, err
		}
	}
	n := min(limit, len(r.left), maxChunk)
	if n == 0 {
		return dst, nil
	}
	entries := make([]entry, n)
	for i := range entries {
		entries[i] = r.left[i].entry
	}
	events, err := r.snapshot.events(ctx, entries)
	if err != nil {
		return dst, err
	}
	for _, e := range entries {
		event := events[e.position]
		if event == nil {
			break
		}
		dst = append(dst, store.Record{Position: store.Position(e.position), Event: event})
		r.left = r.left[1:]
	}
	return dst, nil
}
