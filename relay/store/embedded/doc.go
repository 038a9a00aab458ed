// Package embedded keeps events in one folder on the local disk, on Pebble v2.
// It implements the contract of package store.
//
// Writing. One goroutine, started by Open and waited for by Close, owns the
// database's write side. Append queues its events and waits. The writer takes
// what is queued, decides each event against the stored ones and the earlier
// ones of the same commit, gives dense positions, and commits everything in one
// batch with one fsync. Pebble shows a batch to readers before it is durable;
// therefore readers never look at the database as it is, but at the snapshot
// that the writer publishes after the fsync.
//
// Permissions. What a write rests on and whom it may not come from is decided in the
// commit, by maps in memory (marks.go): they are read when the database is opened and
// take over what a commit added once it is durable, so they are what is on disk. A
// control row is kept twice, the second time where ReadControl finds it without the
// log. Erase looks for its events in a snapshot, beside the writer.
//
// Retention. Trim removes rows from the floor on, up to 2,000 in a commit, and moves the
// floor with them. The rows of stored events stay below the floor, since the indexes name
// them; they go when the event does.
//
// Searching. With Options.Search there is an index of words (NIP-50), which commits keep
// like the others. A search reads the entries of its rarest word, looks at their events
// for the rest, and scores the newest matches; it holds their entries, not the events.
// Open makes the index when the option is new, which takes minutes for a million events
// and goes on where a crash interrupted it, and removes it when the option is gone. A
// commit of short notes takes two to three times as long with it (BenchmarkWords).
//
// Reading. A query is a merge of index streams, newest first; keys.go has the
// layout. Few streams that hold nothing but matches are taken at sight, others are
// chosen by cost from samples, with which the merge then goes on. However many streams it
// merges, a query holds one database iterator, and between two pages none: an
// open one would keep memtables in memory for as long as a slow client takes.
// A page comes as soon as it has a record and the next one takes a long look; the
// hint is looked for after the last page, and not for long. Decoded events are cached
// by position: the cache is filled from committed rows only, a position that an
// index entry names holds that event for good, and whether an event is stored
// at all is always asked of the snapshot's index, never of the cache. So an
// entry that outlives its event does no harm.
//
// Damage. A stored event that cannot be decoded is left out of answers, logged and counted
// (Damaged). What removes or replaces it goes on, and says so to nobody, as its tags may
// not be known. Its keys are found again as long as it is JSON; otherwise they stay, and
// queries pass over them. A block that Pebble itself cannot read fails who reads it.
//
// Failing. Before each commit the free space is looked at, and below
// Options.MinFreeBytes commits are refused; they go on as soon as there is room. Refusing
// tells what became of the last one, a sweep's for which nothing was due included.
// While tables cannot be written they are tried again ten times a second.
// A write error that Pebble cannot continue after leaves the last published
// snapshot readable and refuses commits, until a probe shows that the folder
// takes writes again; then the database is opened anew in place. Snapshots that
// were open at that moment fail. A commit that fails in the middle of its fsync
// was not acknowledged and may yet be there after the reopening. Only a folder
// whose directory entry cannot be synced ends the process, by Pebble's panic;
// what was acknowledged is safe then as well.
//
// Losing the log. What was committed since the last table was written is in the write-ahead
// log alone, the *.log files of the folder. Open refuses a folder that has lost them and has
// nothing else; where there are tables it warns and begins another epoch. It does not see
// that one log of several is missing.
//
// Locks. Store.mu guards what is published and is held for memory only; a
// snapshot has a mutex of its own, which is held across its reads, so that Close
// can end a snapshot that is in use; it is let go while Visible is asked. None is taken while another is held.
package embedded
