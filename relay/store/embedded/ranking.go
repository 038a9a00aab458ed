package embedded

import (
	"context"
	"math"

	"fencepost/relay/store"
	"fencepost/relay/store/rank"
)

// ranking is what the filters that search contribute to an answer, best first. The
// snapshot's mutex guards it. It keeps index entries, not events.
type ranking struct {
	*rank.List[uint64, entry]
	reader *reader
}

// newRanking makes the ranking of what these walks find.
func newRanking(r *reader, walks []*walk, sight sight) *ranking {
	filters := make([]rank.Searching[entry], len(walks))
	for i, w := range walks {
		filters[i] = w.searching(sight)
	}
	return &ranking{rank.New(func(e entry) uint64 { return e.position }, compareEntries, filters), r}
}

// searching takes the limit from w, which is then about scores, not about time.
func (w *walk) searching(sight sight) rank.Searching[entry] {
	limit := w.left
	w.left = math.MaxInt
	u := union{walks: []*walk{w}, sight: sight}
	return rank.Searching[entry]{Limit: limit, Next: func(ctx context.Context) (entry, float64, bool, error) {
		for {
			found, s, err := u.step(ctx)
			if err != nil || s == ended {
				return entry{}, 0, false, err
			}
			if s == looked {
				continue
			}
			return found.entry, w.filter.Score(found.event), true, nil
		}
	}}
}

// next appends up to limit records.
func (r *ranking) next(ctx context.Context, dst []store.Record, limit int) ([]store.Record, error) {
	best, err := r.Best(ctx, limit)
	if err != nil {
		return dst, err
	}
	for i, bytes := 0, 0; i < len(best) && bytes < mostBytes; i++ {
		e, err := r.reader.event(&best[i])
		if err != nil {
			return dst, err
		}
		r.Take(1)
		if e == nil {
			continue // damaged since it was found
		}
		dst = append(dst, store.Record{Position: store.Position(best[i].position), Event: e})
		bytes += len(e.Raw())
	}
	return dst, nil
}
