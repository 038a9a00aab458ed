// Package transfer copies one store into another of whatever kind: everything that a
// relay over the copy needs to behave as the relay over the original did.
//
// What is copied: stored events in the order of the log, the control rows between them,
// from which permissions and epochs follow, and every mark by which events are refused:
// deletions, bans, erased keys and groups; and the fences of publishers, with leases that
// begin anew. What is not: void rows, removal rows,
// ephemeral events, and the positions. A copy has positions and an epoch of its own, so
// whoever resumes from a position of the original is told to resynchronise.
//
// A part is written in one commit with the progress, which names the original by its
// epoch. Copy goes on where the last commit ended, after a kill at any moment too; only
// an empty store can be begun with, and nothing but the same original goes on with it.
// Until the end is written the stores refuse to be opened for serving. What Begin did to
// an empty store Withdraw undoes, as long as nothing was copied.
//
// At the end both stores are read whole and their Sums compared. Neither may be written
// by others meanwhile; the sums show it if one was. Nothing here starts a goroutine.
package transfer
