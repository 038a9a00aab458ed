package storetest

import (
	"slices"

	"fencepost/relay/store"
)

// sortBest puts those with the highest score first, then the newest.
func sortBest(found []store.Record, scores map[store.Position]float64) {
	sortNewest(found)
	slices.SortStableFunc(found, func(a, b store.Record) int {
		switch x, y := scores[a.Position], scores[b.Position]; {
		case x > y:
			return -1
		case x < y:
			return 1
		default:
			return 0
		}
	})
}
