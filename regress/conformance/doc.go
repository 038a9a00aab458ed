// Package conformance says what a client may rely on, over real sockets and by
// URL. It holds tests only.
//
// Without flags the suite builds cmd/fencepost, with the race detector when it
// has it itself, and starts it as a process on a free port with its data in a
// temporary folder; limits are set through the environment, and tests of one
// configuration share a process. At the end every process must have stopped
// cleanly, without a panic or a data race. With -conformance.url=ws://... it
// holds another relay to the same answers; tests that need a configuration of
// their own or something only this relay has are skipped and say so. Tests use
// topics and keys of their own, so that a relay may hold anything else.
//
// FIELD_REPORTS in comments stands for the list of what users of other relays
// ran into; its line numbers say which tests answer which report.
//
// The folder clients holds the same for the clients that people use, run by the
// script run.
package conformance
