// Package session tells the shared index which keys are connected to this process,
// and is that index for a process that runs alone.
//
// A Reporter walks over the connections every few seconds and reports what changed
// since the last report that arrived: so a report that is lost, or an index that was
// away, costs nothing but time, and afterwards everything is said again that the
// index may have missed. Only connections that authenticated have sessions, one for
// each key.
//
// Each process has a name and, new at each start, an incarnation; it speaks of its own
// incarnation only, so a restarted process neither inherits nor refreshes what its
// predecessor said (R8). An end is reported by who saw it: a process that was killed
// reports nothing, and what it said last grows old.
//
// Memory keeps the index of one process. Both may be called from anywhere.
package session
