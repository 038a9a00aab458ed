// Package client is a small WebSocket client of the NIP-01 protocol, for this
// project's own programs: mirrors, sync, the storm, benchmarks and tests.
//
// One goroutine a client reads: it decodes strictly, gives each OK to the Publish
// that waits for it, and everything else to Next in the order received. Between
// reader and Next stands a bounded buffer. When it is full the reader waits, and
// so do the OKs behind it: whoever opens subscriptions must keep calling Next.
//
// Sync brings a Keeper of events up to date: it resumes by a changes feed and, where
// the relay says that this is not possible, compares both sides by NIP-77 or fetches
// everything by REQ. Reconcile finds out what each side lacks; FetchIDs and FetchAll get
// it. These are the only parts that call Next themselves.
//
// A client does not reconnect and keeps no subscriptions. It answers a challenge
// (NIP-42) only when told to. Close ends the reader and waits for it.
package client
