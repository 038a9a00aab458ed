package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"fencepost/relay/store"
	"fencepost/relay/store/rank"
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

// ranking is what the filters that search contribute to an answer, best first. It keeps
// index entries, not events.
type ranking struct {
	*rank.List[int64, entry]
	snapshot *snapshot
}

// newRanking makes the ranking of what these filters find.
func newRanking(s *snapshot, filters []*wire.Filter, opt store.QueryOptions) *ranking {
	walks := s.union(filters, opt.Limit, nil).walks
	searching := make([]rank.Searching[entry], len(walks))
	for i, w := range walks {
		searching[i] = w.searching(opt.Visible)
	}
	return &ranking{rank.New(func(e entry) int64 { return e.position }, compareEntries, searching), s}
}

// searching counts nothing against the limit of w, which is about scores, not about time.
// Events are let go.
func (w *walk) searching(visible func(*wire.Event) bool) rank.Searching[entry] {
	return rank.Searching[entry]{Limit: w.left, Next: func(ctx context.Context) (entry, float64, bool, error) {
		for {
			if err := w.snapshot.ready(ctx); err != nil {
				return entry{}, 0, false, err
			}
			head, err := w.head(ctx)
			if err != nil || head == nil {
				return entry{}, 0, false, err
			}
			w.pop(false)
			if visible == nil || visible(head.event) {
				return head.entry, w.filter.Score(head.event), true, nil
			}
		}
	}}
}

// next appends up to limit records.
func (r *ranking) next(ctx context.Context, dst []store.Record, limit int) ([]store.Record, error) {
	best, err := r.Best(ctx, min(limit, maxChunk))
	if err != nil || len(best) == 0 {
		return dst, err
	}
	events, err := r.snapshot.events(ctx, best)
	if err != nil {
		return dst, err
	}
	for _, e := range best {
		event, readable := events[e.position]
		if readable && event == nil {
			break // it lies behind what one page holds
		}
		r.Take(1)
		if readable {
			dst = append(dst, store.Record{Position: store.Position(e.position), Event: event})
		}
	}
	return dst, nil
}
