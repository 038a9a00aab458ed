package embedded

import (
	"context"
	"math"
	"slices"

	"fencepost/relay/store"
)

// scored is a match and how well it answers a search.
type scored struct {
	entry
	score float64
}

// ranking is what the filters that search contribute to an answer, best first. The
// snapshot's mutex guards it. It keeps index entries, not events.
type ranking struct {
	reader *reader
	walks  []*walk
	sight  sight

	begun bool
	left  []scored
	given map[uint64]struct{} // positions of all that are or were in left
	more  bool                // a limit hides a match
}

// has reports whether the event at a position is in the ranking.
func (r *ranking) has(position uint64) bool {
	_, ok := r.given[position]
	return ok
}

// rank finds the candidates of each filter and orders what their limits leave.
func (r *ranking) rank(ctx context.Context) error {
	r.begun, r.given = true, make(map[uint64]struct{})
	best := make(map[uint64]scored)
	for _, w := range r.walks {
		limit := w.left
		found, err := r.candidates(ctx, w)
		if err != nil {
			return err
		}
		slices.SortFunc(found, compareScored)
		if len(found) > limit {
			found, r.more = found[:limit], true
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

// candidates returns the newest visible matches of w: as many as its limit, one more to
// see whether that hides something, and store.SearchDepth at least.
func (r *ranking) candidates(ctx context.Context, w *walk) (found []scored, err error) {
	depth := store.SearchDepth
	if w.left >= depth {
		depth = min(w.left, math.MaxInt-1) + 1
	}
	w.left = math.MaxInt
	u := union{walks: []*walk{w}, sight: r.sight}
	for len(found) < depth {
		match, s, err := u.step(ctx)
		if err != nil || s == ended {
			return found, err
		}
		if s == looked {
			continue
		}
		if match.event == nil {
			if match.event, err = r.reader.event(&match.entry); err != nil {
				return nil, err
			}
		}
		found = append(found, scored{entry: match.entry, score: w.filter.Score(match.event)})
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
	for bytes := 0; len(r.left) > 0 && limit > 0 && bytes < mostBytes; bytes += len(dst[len(dst)-1].Event.Raw()) {
		e, err := r.reader.event(&r.left[0].entry)
		if err != nil {
			return dst, err
		}
		dst = append(dst, store.Record{Position: store.Position(r.left[0].position), Event: e})
		r.left = r.left[1:]
		limit--
	}
	return dst, nil
}
