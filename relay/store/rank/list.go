package rank

import (
	"context"
	"math"
	"slices"

	"fencepost/relay/store"
)

// Searching is a filter that searches.
type Searching[E any] struct {
	Limit int // what it contributes at most, above 0; math.MaxInt is no bound
	// Next returns its next visible match and how well it answers; ok is false at the
	// end. It pays no regard to Limit.
	Next func(ctx context.Context) (match E, score float64, ok bool, err error)
}

// List is what filters that search contribute to an answer, best first, each match once.
// K tells matches apart.
type List[K comparable, E any] struct {
	// Set at construction, never changed.
	key     func(E) K
	compare func(a, b E) int
	filters []Searching[E]

	ranked bool
	err    error // of ranking; it stays
	best   []E   // what was not taken yet
	given  map[K]struct{}
	more   bool
}

// New makes a list of what these filters find. It asks none of them yet. Key tells matches
// apart, compare is the order of equal scores.
func New[K comparable, E any](key func(E) K, compare func(a, b E) int, filters []Searching[E]) *List[K, E] {
	return &List[K, E]{key: key, compare: compare, filters: filters}
}

// Best returns the first matches, n at most, for the caller to look at; none is the end.
// The first call asks the filters.
func (l *List[K, E]) Best(ctx context.Context, n int) ([]E, error) {
	if !l.ranked && len(l.filters) > 0 {
		l.ranked = true
		l.err = l.rank(ctx)
	}
	return l.best[:max(0, min(n, len(l.best)))], l.err
}

// Take removes the first n of what Best returned: they were given out.
func (l *List[K, E]) Take(n int) { l.best = l.best[n:] }

// Has reports whether a match is or was in the list. It is for after the first Best.
func (l *List[K, E]) Has(key K) bool {
	_, ok := l.given[key]
	return ok
}

// More reports whether there is a match that was not taken, or that a limit hides.
func (l *List[K, E]) More() bool { return l.more || len(l.best) > 0 }

// scored is a match and how well it answers.
type scored[E any] struct {
	match E
	score float64
}

// rank finds the candidates of each filter and orders what their limits leave.
func (l *List[K, E]) rank(ctx context.Context) error {
	known := make(map[K]scored[E])
	for i := range l.filters {
		found, err := l.filters[i].candidates(ctx)
		if err != nil {
			return err
		}
		slices.SortFunc(found, l.order)
		if limit := l.filters[i].Limit; len(found) > limit {
			found, l.more = found[:limit], true
		}
		for _, s := range found {
			k := l.key(s.match)
			if before, ok := known[k]; !ok || before.score < s.score {
				known[k] = s
			}
		}
	}
	l.given = make(map[K]struct{}, len(known))
	all := make([]scored[E], 0, len(known))
	for k, s := range known {
		l.given[k] = struct{}{}
		all = append(all, s)
	}
	slices.SortFunc(all, l.order)
	for _, s := range all {
		l.best = append(l.best, s.match)
	}
	return nil
}

// candidates returns the newest matches: as many as the limit, one more to see whether it
// hides something, and store.SearchDepth at least.
func (f *Searching[E]) candidates(ctx context.Context) (found []scored[E], err error) {
	depth := min(max(f.Limit, store.SearchDepth-1), math.MaxInt-1) + 1
	for len(found) < depth {
		match, score, ok, err := f.Next(ctx)
		if err != nil || !ok {
			return found, err
		}
		found = append(found, scored[E]{match, score})
	}
	return found, nil
}

func (l *List[K, E]) order(a, b scored[E]) int {
	switch {
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	default:
		return l.compare(a.match, b.match)
	}
}
