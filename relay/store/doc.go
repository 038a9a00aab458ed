// Package store is the contract between the relay and whatever keeps its
// events: a set of indexed events, and the commit-ordered log of everything
// that changed it. The two change in one transaction (E2).
//
// Positions are dense and given inside the commit, so "position > last" is
// complete, a high-water mark is a sound dedupe, and a hole can only mean
// retention. A row above the floor is never removed, but its payload can be
// emptied to a void.
//
// Package storetest has the suite that every implementation passes, and an
// in-memory fake that passes it as well.
package store
