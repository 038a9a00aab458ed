// Package store is the contract between the relay and whatever keeps its
// events: a set of indexed events, and the commit-ordered log of everything
// that changed it. The two change in one transaction (E2).
//
// Positions are dense and given inside the commit, so "position > last" is
// complete, a high-water mark is a sound dedupe, and a hole can only mean
// retention. A row above the floor is never removed, but its payload can be
// emptied to a void.
//
// Retention (Trim) removes rows and moves the floor in one transaction. It is about the
// log, which is a feed, and not about what is stored: an event whose row is gone is still
// found by queries, with its position, and when it is removed later the removal row says
// so as always. Control rows are kept for ever. Age is known by moments that each trim
// may note (Retention.Plan), so that an append has no part in it.
//
// Search (NIP-50) is by words, which package wire cuts: a store that Searches finds
// exactly what wire.Filter.Matches says, best first.
//
// A write may be a frame of a publisher's stream, or change the fence of one (Fence):
// the fence is looked at and changed in the commit of the write, by a clock that all
// processes over one store share.
//
// Damage. A stored event whose form cannot be read harms nothing else. It is in no answer
// and fails none, it is Broken in the log, and a sweep or an erasure that selects it removes
// it without a removal row, since who may know of that hangs on its tags. A newer version
// replaces it. A write that names it, to delete or to ban it, may fail, and then alone. The
// store logs it, and counts how often it came by one (Damaged() uint64).
//
// Package storetest has the suite that every implementation passes, and an
// in-memory fake that passes it as well.
package store
