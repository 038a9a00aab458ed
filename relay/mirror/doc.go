// Package mirror keeps this relay and another one, the upstream, alike as far as a
// filter goes: down takes events in, up passes them on, both does both.
//
// Each mirror is a fenced stream of the relay's own key (package fence). One process
// owns it: it claims the fence, and renews it while it lives; when it dies another one
// claims it within a lease. How far the mirror has come, its cursor, is kept in the
// fence, in the same commit as the frames, so a successor goes on there. An owner that
// was paused and replaced is refused with its next event and stops.
//
// Down. A subscription from Overlap before now runs from the start; beside it, what
// was missed while nobody was connected and, at the very first, what Start asks for is
// fetched by pages, newest first. Every event is judged like one of a stranger: limits,
// id, signature, permissions, and the filter as well. Events that this relay has are
// duplicates, which take no number. An event that cannot be saved ends the session, and
// is fetched again. What an upstream stores late, with a created_at more than Overlap
// before the moment at which the connection was lost, is missed, unless Start is
// Reconcile: then both sides are compared by NIP-77 after each connect, and pages are for
// an upstream that cannot do that.
//
// Up. The log is followed in position order. What everybody may read here is published
// there, protected events (NIP-70) and what came from there aside. An upstream that
// wants to be asked later is asked later; what it refuses for good is counted, and so is
// an event on which alone it ends connections.
//
// Echo. Ids that the upstream is known to have are remembered: they are not sent back,
// and what comes back is not judged again. What was refused here is not remembered.
//
// A hostile upstream harms only its own mirror. At most mostOfPage events, and mostBytes,
// are read of a page, and those of another time than was asked for are dropped. An
// upstream that leaves a question or an AUTH open for Patience is left; an event that it
// leaves open is offered maxTries times and then counted as refused.
//
// A connection that ends is made again with a jittered back-off. Run blocks until its
// context ends; Status may be called anywhere.
package mirror
