// Package manage carries out what the operator asks for over the management API
// (NIP-86): it reads the parameters of a method, asks package access what has to
// be committed for it, commits that, and returns once it is in force on this
// replica. Methods that list answer from what is in force here.
//
// Who may call is decided before (package web). A method that changes nothing,
// because it is so already, is a success.
//
// An API may be used from any goroutine. Call blocks for a commit and until the
// follower has applied it, for ten seconds at most.
package manage
