// Package mutants proves that the tests guard the fences: it removes one fence
// at a time, by an edit that `go test -overlay` lays over the source, and the
// suite named beside it must then fail.
//
// Table lists the mutants. Each quotes the text it replaces, which must occur
// exactly once in its file, so that a change of the code breaks the table loudly
// and the mutant is moved along. A mutant that survives means that a test is
// missing: write the test, never soften the mutant.
//
// A Runner compiles the suite's test binary with the overlay and runs the named
// tests, without the race detector. What does not compile, names a test that
// does not exist, or fails without the mutant is an error of the table and not a
// kill. Nothing is written inside the repository.
//
//	go test ./regress/mutants                    the table, and a few mutants
//	go test ./regress/mutants -v -mutants=all    all of them
//	go test ./regress/mutants -v -mutants=sample a quarter, chosen by -mutants.seed
//	go test ./regress/mutants -v -mutants=NAME,NAME
package mutants
