// Package rank puts the answer to a search (NIP-50) in its order, for both durable stores.
// It stands apart so that how deep a search looks, what its limits leave and what comes
// first are the same, and proved once; see store.Snapshot.Query.
//
// A Searching is one filter that searches: its limit, and a way to its visible matches,
// newest first, each with its score. A List takes from each as many as it needs, keeps the
// best within the limit, merges them, and hands them out best first. It holds what the
// store knows of a match beside its event, so that a long answer is not a long list of
// events. Limits that hide a match are noticed: one more than the limit is looked for.
//
// A List is not safe for concurrent use, starts no goroutine and holds no lock; it blocks
// as long as the functions that it is given. An error of theirs stays: matches that were
// taken before it are lost, so there is no right answer any more.
package rank
