// Package suites holds the race suites, one file a race: each parks one side at
// every dangerous point, lets the other side go by, and checks what the client
// saw. There is no code here but tests; they need a build that can pause.
//
// A suite names the promises that it holds. For each fence there is a mutant
// that makes one of these suites fail.
package suites
