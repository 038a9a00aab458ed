// Package storetest holds what every store.Store is measured by.
//
// Fake is an in-memory store that is slow and obvious: a slice of rows, linear
// scans and wire.Filter.Matches. It starts no goroutine and no timer and takes
// its time from the caller, so it can live in a synctest bubble. Nothing blocks
// while its one mutex is held.
//
// Run is the contract as a suite. RunModel applies random histories to a store
// and to the fake, and asks both the same questions. RunDamaged is what the contract says
// of events that cannot be read, which the fake never has.
package storetest
