// Package kv keeps fences in a key-value store that has compare-and-swap and nothing
// more: fences of relays that share no database. It is an engine of package publish.
//
// A stream is one record: the fence, the drain lock, and references to the frames that
// are admitted and not delivered, in order. Whatever changes a stream swaps its record for
// another, if it is still the one that was read. A frame itself is an item of its own key.
// Streams lists the records, since such stores cannot.
//
// Admission (P7) is one transaction: the item, and the record with a reference to it. A
// store that applies the item although the record was not swapped, as Dapr's Redis
// component does, leaves an item that nothing refers to; it is deleted on the spot. Nothing
// is ever deleted in the transaction that swaps a record, because such a store would
// delete it for nothing. The record says by a random revision whose it is: so the answer to
// a swap may get lost, and conflicts are recognised whatever a store calls them.
//
// Delivery (P8, P10, P11). Whoever has the drain lock delivers the first frame to the Sink,
// then takes its reference away, which gives it its number, then deletes the item. The
// lock lasts DrainLock and is prolonged by each step; nobody who lost it takes a reference
// away. So frames are delivered in the order of admission, at least once: a drainer that is
// killed or stopped between the first two steps leaves its frame to be delivered again, and
// a Sink must know an event that it has already. Ephemeral events cannot be known and may
// be heard twice. Publish drains until its own frame is delivered; what a process leaves
// behind is delivered by the sweep of any other within DrainLock and SweepEvery.
//
// An event that the Sink refuses leaves the stream without a number. One that is stored by
// somebody else between admission and delivery keeps its number.
//
// A fence that is revoked or past its lease, has nothing pending and was not touched for
// two leases is removed (P12): its numbers and its epoch begin anew.
//
// Leases are judged by the clock of each process; a skew below the lease makes a claim
// early or late and breaks no promise (P14).
//
// Run is the sweep; the caller starts it in a group of its own and ends it by its context.
// All methods may be called from any goroutine. No lock is held while the store or the
// Sink is asked, the drain lock aside.
package kv
