package handlers

import (
	"slices"

	"fencepost/relay/store"
)

// pageBytes bounds the events of a page of the log, in bytes, but for the last one: a
// client that does not read keeps them for as long as it is waited for.
const pageBytes = 512 << 10

// light returns as much of the beginning of page as pageBytes allows, and nothing that
// holds the rest.
func light(page []store.Entry) []store.Entry {
	bytes := 0
	for i := range page {
		if bytes >= pageBytes {
			return slices.Clone(page[:i])
		}
		if page[i].Event != nil {
			bytes += len(page[i].Event.Raw())
		}
	}
	return page
}
