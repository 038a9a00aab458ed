// Package race is a storm over real sockets that counts the frames a client
// should never have received, or should have and did not. It works against any
// NIP-01 relay by URL: `fencepost race` is its command.
//
// Connections open, replace and close a few subscription ids each, in an order
// drawn from a seed, while publishers write. Every event carries a topic, a
// unique t tag of this run, so that the storm neither disturbs a relay's users
// nor is disturbed by them, and an expiration an hour ahead. The filters that
// one id has in succession ask for different topics, hence a frame tells which
// generation it belongs to. What is counted:
//
//   - stale: a frame of x after the EOSE or CLOSED of a barrier REQ that was sent
//     after CLOSE x (a fresh id, the ids of an unknown event, limit 1); a frame of
//     x after a CLOSED x that the relay sent by itself; a frame that only an older
//     filter of x matches, after the newer one's first frame or EOSE.
//   - duplicate: an event twice in one generation, or EOSE twice.
//   - missing: an event answered OK after the EOSE of a subscription and before
//     its CLOSE that never came. An event may be answered before it is fanned
//     out, so it is judged only where the client waited for it before CLOSE, up to
//     Options.Patience, and at the end of the storm. One that was sent before EOSE
//     is judged only if fewer stored events than the limit came, and if its kind is
//     stored at all.
//   - out of order: a stored event newer than the one before it, or with a lower
//     id at the same created_at (NIP-01); live, an event of one publisher after a
//     later one of the same publisher, when the earlier one was answered OK before
//     the later one was sent.
//
// Where several REQs of one id are unanswered, an EOSE could be that of any of
// them; then order is not judged until it is certain, and nothing is counted that
// a correct relay could do.
//
// The storm is bounded in time and in events, and leaves no goroutine behind.
package race
