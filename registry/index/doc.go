// Package index answers one question: whose filters could match this event? It
// maps an event to candidate handles without looking at the other subscriptions.
//
// Each filter of a handle is filed under its most selective field: its ids, else
// the tag name with the fewest values, else its authors, else its kinds, else
// the open list, which every event meets. A filter with an empty list matches
// nothing and is not filed. A lookup reads the buckets that the event's own
// fields name, so candidates are a superset of the true matches; the caller asks
// wire.MatchesAny.
//
// Everything may be called from any goroutine. No method calls one of a handle's
// that locks, and no lock of the index is held when a method returns, so an index
// lock and a connection's lock are never held together.
//
// Entries are removed by handle, never by subscription id, and a handle that was
// removed does not come back. Once Add has returned,
// every lookup that begins later finds the handle, until a Remove begins. Add and
// any number of Removes of one handle may run at the same time: a Remove that
// finds the handle takes out all of it, what Add has not filed yet included, and
// a Remove that came before it does nothing. The caller therefore publishes and
// then asks again:
//
//	x.Add(h)
//	if !h.Current() {
//		x.Remove(h)
//	}
//
// Whoever retires a handle calls Remove as well. Either that Remove finds the
// handle, or it came before Add and Current is false by then. The entry is gone
// once all these calls have returned; one of them can return earlier, while
// another is still taking the handle out.
package index
