// Package postgres starts a real PostgreSQL for tests, or uses the one that
// FENCEPOST_TEST_POSTGRES names.
//
// Start makes a cluster in a folder of the test, as another user when the tests run
// as root, and stops it when the test ends. Its binaries come from PATH or from
// /usr/lib/postgresql. Where there is none, the test is skipped and says so; with
// CI=true it fails. Each call of Database makes an empty database.
//
// A Proxy stands between a replica and its database: it drops, resets and delays what
// passes, loses the answer to a commit, holds one back, and deafens a listener.
//
// The server runs with fsync, as the relay wants it, and listens on a port of the
// loopback interface, so that faults of TCP can be tested.
package postgres
