// Command fencepost is a Nostr relay and its tools, one file per command.
//
// It exits with 0 when all went well, with 1 on a failure and with 2 when the
// command line cannot be understood. A failure is one line on standard error.
package main
