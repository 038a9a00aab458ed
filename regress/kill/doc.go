// Package kill holds the tests that need a real process: the binary is built
// once, started on a folder of its own, and ended by SIGKILL, SIGTERM or a
// competitor while clients publish.
//
// What it shows: an acknowledged event outlives SIGKILL at any moment (E1), and so
// do acknowledged changes of permissions, of which everybody's are then what the
// log adds up to; a drain tells every client and exits with 0; a second signal ends
// at once; a second process on one folder is refused; a malformed configuration
// changes nothing; a copy of a store that is killed again and again, into PostgreSQL and
// back, holds what the original does. A restart after SIGKILL with as much in the write-ahead
// log as there can be is measured: `-kill.stored=1000000 -kill.restarts=10 -kill.ready=2s`
// does so with a million events and fails when one takes longer. `-kill.rounds=100` runs as many rounds of SIGKILL, and a fifth of
// them with moderation.
package kill
