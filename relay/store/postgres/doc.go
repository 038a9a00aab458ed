// Package postgres keeps events in PostgreSQL, 15 or later, for one process or several
// of equal rank over one database. It implements the contract of package store; DESIGN.md
// has the schema, the locks and the figures.
//
// Writing. One goroutine, started by Open and waited for by Close, takes what is queued
// and makes one transaction of it: it reads what the decisions can rest on in one round
// trip, decides in memory, and sends everything to log_commit, a function in the
// database, in a second one. log_commit locks the row of log_head first and refuses when
// any process committed since the reading; so the lock is held for one round trip, and
// positions are dense over all processes. Whoever is refused reads again under the lock.
// A commit that fails because of what is written, or of a row that it names, is divided until
// the culprit is alone. One that deletes or bans more than 64 MiB by name fares the same, and
// alone it is refused with "invalid". When the answer to a commit is lost, the database is asked before anybody is
// answered; the asking moves the version of log_head, so that a backend that still works
// on the lost commit cannot finish it afterwards. A commit is tried for
// Options.CommitTimeout; then its callers get an error, and what is unknown by then may
// be stored after all.
//
// Reading. A snapshot is a position. What is removed is marked with the position that
// removed it and kept for Options.SnapshotAge, so a snapshot needs neither a transaction
// nor a connection between two pages, and survives a restart of the database. Each read
// looks afterwards whether something that it should have seen may be deleted already,
// and fails then. Pages are read by cursor, each filter by one index in the order of
// answers; neither a connection nor a lock is held while Visible is asked. For each filter and
// each page 512 KiB of events are held at once, and one more event.
//
// Connections. Options.MaxConns are for queries; three more are for short statements, and
// one each for the writer, the listener and the notifier. Followed reads the log by one
// that nobody else uses. Where the database has none for that, queries fail until it has.
//
// Damage. A stored event whose wire form cannot be decoded is left out of answers, logged
// and counted (Damaged). The sweep and an erasure remove it by the columns beside it and
// say so to nobody, as its tags are not known. A deletion or a ban that names it is refused.
//
// Failing. Refusing says whether the last commit failed, and not because of what it was about.
// While it did, one that had nothing to write, as most sweeps, commits a new version, to see.
// That takes no room: after one that found the disk full only one of rows tells, of this
// process or another.
//
// Searching. The words of an event (NIP-50) are cut by package wire and kept beside it; a
// search finds by them and orders by score the newest matches, store.SearchDepth or as
// many as the limit. It holds their index entries in memory, not the events.
//
// Retention. Trim removes rows of the log, up to 2,000 in a transaction, which has its
// turn among the commits and moves the floor. Several processes may trim at once. A count
// of one filter that an index decides is made by the database, without a look at events.
//
// Waking. After its commits a process sends an empty NOTIFY on a connection of its own,
// coalesced; a listener on another one wakes the follower of the other processes. It is
// pinged, and connected again with a jittered back-off; it wakes the follower after each
// reconnect. A lost NOTIFY costs latency only: the follower polls. Behind PgBouncer in
// transaction mode LISTEN hears nothing.
//
// Histories. The epoch is another one after a failover, a recovery to a moment, and the
// restore of a dump; a copy of the server's files that is put back keeps it. Every
// connection is made to a primary, never to a standby, whose log may lag: of several hosts
// in the URL it is looked for.
//
// Starting. Open waits for a database that does not answer for Options.Patience, where a
// connection that falls silent is left after some seconds, but for one that migrates; and
// with Options.Migrate brings the schema up to date, unless that would stop replicas of
// an older version that run. RelayKey keeps the one key with which all replicas sign.
//
// Stopping. Close refuses new calls, lets the writer finish what is queued, then ends
// the listener and the notifier, then waits for reads that are running.
package postgres
