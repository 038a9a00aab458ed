// Package handlers answers what a client sends, one file a verb. It holds no
// goroutine and no lock of its own: order comes from the reader that calls
// Handle, exclusion from the lifecycle lock, and work that takes time runs in
// the connection's group through lifecycle.Conn.Query and lifecycle.Lane.
//
// Handle decodes, decides and takes effect in the order of its calls (G9). REQ
// COUNT and NEG-OPEN read the store in a query of their own, NEG-MSG is answered by the
// reader; EVENT is checked in the
// shared pool, then decided about and committed in read order; CLOSE and AUTH end
// before Handle returns. Handle blocks while there is no room for the answer that
// its message is owed, which is how a client that does not read is slowed down
// (G8).
//
// CHANGES sends the log behind a position in pages, with a bound on the time of the
// store, and then what is live. It costs in proportion to the rows that are behind
// the position, whatever its filter, and stops with a place to go on from where that
// would be too much. A position that cannot be continued exactly is answered with a
// resync: one of another epoch, above the head or below the floor, a token whose event
// stands elsewhere, one that retention overtakes during the replay, and one behind
// which a row cannot be read. Of a position just below the floor the row is gone, so the
// epoch alone is compared. What may be seen is decided when the feed asks (R4), for
// removals by lifecycle.Conn.SightOf.
//
// The stored events of a REQ end, and its live ones begin, at the position of its
// snapshot. Rows below it that the fan-out has put aside are left to the fan-out; a feed
// waits at one that it cannot read until that is delivered or given up.
//
// Who may do what is said by Writing and Reading, and each decision is one that
// still holds when it takes effect (G4):
//   - An event is planned from epochs that the store compares in the commit. When
//     one has moved, the event leaves the commit, waits until this relay has
//     applied what moved it, and is planned again, three times at most. Other
//     events of the connection go on meanwhile.
//   - An event that changes permissions is the last of its commit. It is answered,
//     and the next event planned, when the change is in force here; after ten
//     seconds without that it is answered all the same, because it is durable.
//   - A REQ is judged before its handle is reserved and, when permissions were taken
//     away meanwhile, once more: the revocation has not seen the handle.
//   - With Options.Replicas a REQ, CHANGES, COUNT or NEG-OPEN that would be refused by
//     permissions is judged again in a query, for the keys that its connection had, when
//     what others have committed of those is in force here, or after a second: who was
//     let in on another replica is not turned away on this one. A REQ or CHANGES that waits is
//     the current generation of its id; what is taken from others meanwhile may refuse it
//     earlier.
//   - A query waits, once its snapshot is open, until the control rows are in force
//     that the snapshot holds. What it queues carries the grant of its decision.
//   - A COUNT during which permissions were taken away is counted again. It and a
//     NEG-OPEN are judged once more when that is done: what was closed meanwhile is refused,
//     and does not pass for empty.
//   - A NEG-OPEN (NIP-77) collects what may be seen, with the grants of all of it, on which
//     every answer of the negotiation rests.
//   - Of the log half a MiB of events is held at once, and one more: a page is cut there, and
//     the next one is as small. A client that does not read keeps its page.
//   - A key is added to its connection before anybody asks whether it is banned.
package handlers
