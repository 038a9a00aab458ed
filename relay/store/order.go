package store

import (
	"math"

	"fencepost/relay/wire"
)

// Newer reports whether a comes before b in an answer, and whether a is the
// version that stays when both have one address: the later created_at, and of
// two equal ones the lower id (NIP-01).
func Newer(a, b *wire.Event) bool {
	if a.CreatedAt != b.CreatedAt {
		return a.CreatedAt > b.CreatedAt
	}
	return a.ID < b.ID
}

// Limit returns how many events f may contribute; math.MaxInt is no bound.
func (o QueryOptions) Limit(f *wire.Filter) int {
	limit := f.Limit
	if f.LimitZero {
		return 0
	}
	if limit <= 0 {
		limit = o.DefaultLimit
	}
	if limit <= 0 || o.MaxLimit > 0 && limit > o.MaxLimit {
		limit = o.MaxLimit
	}
	if limit <= 0 {
		return math.MaxInt
	}
	return limit
}
