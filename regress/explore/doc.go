// Package explore runs a few operations in every order in which their steps can
// be interleaved, and holds each outcome against a check.
//
// A Plan builds a Program of two or three operations on a relay in memory. Each
// operation runs in its own goroutine; it and the goroutines that it starts are
// threads, which park at the pause points that the Plan names. One thread is let
// go at a time, and synctest.Wait tells when everything is parked, blocked on
// another thread, or over: that is one step. A thread that is blocked is not a
// choice; it goes on within the step that unblocks it. A schedule is the sequence
// of choices. Stateless model checking, as Verisoft does it: every schedule runs
// from scratch, in a bubble and on a relay of its own, and the enumeration is
// depth first, so n and m segments without blocking give (n+m)!/(n!m!) schedules.
//
// Within a step code runs as the machine likes, so what a Plan does not park at
// is explored in one order only. The table leaves out points from which to the next
// one nothing happens that the other operations can tell, and says so: each of them
// doubles the schedules. A program must be deterministic between its
// choices; All compares the choices of every repeated prefix and gives up with
// an error when they differ.
//
// With Plan.Independent sleep sets leave out schedules that differ from one that
// was run only in the order of commuting steps. Nothing else is left out: there
// is no bound on preemptions and none on depth. Sample draws schedules at random
// and promises nothing about the rest.
//
// The table of scenarios is in the package's tests:
//
//	go test ./regress/explore -v -count=1 -explore.full
//
// runs all of it. Without the flag long scenarios are sampled. A violation prints
// its schedule, which -explore.replay takes together with -run.
package explore
