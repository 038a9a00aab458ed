// Package fence decides who may publish to a stream whose ownership moves between
// processes. A fence is a small record: the token of the present owner, whether it is
// active, a lease, an epoch that rises with every claim, and the number of the next
// frame. A State is a value and its methods are pure: they take the time from their
// argument, touch nothing else, and either return the next state or an *Error.
//
// Words. A stream belongs to the key that made it (Stream.Owner); nobody touches
// another's. An owner of the moment is told by its token, a secret that it makes afresh
// for every claim; a State keeps SHA-256 of it only. A frame is one event that is
// published to a stream.
//
// What holds, as long as an engine replaces a state only by what a method made of
// exactly that state (a compare-and-swap, or a transaction):
//
//   - A fresh token claims when the expected one is current, or the fence is absent,
//     inactive or past its lease; so of several claims that race exactly one wins (P1).
//   - Only the present owner renews or revokes, and what was revoked is claimed anew,
//     never renewed (P2).
//   - The token stays good after its lease until another replaces it, and never again
//     afterwards (P3, P6): none of its frames follows the successor's first.
//   - Every admission renews the lease (P4), and a claim whose owner is never heard of
//     again is in the way for one lease (P5).
//   - Numbers are dense over all owners, from 1 (P8).
//   - A cursor, which an owner replaces together with a frame, goes to its successor as
//     it is: whoever reads from elsewhere goes on where the last frame came from.
//
// A clock decides one thing only, whether a lease has run out, so a clock that is wrong
// makes a claim early or late and breaks none of the above (P14).
//
// Freshness. The last Remembered tokens of a fence are refused as new ones. An older
// token that is used again is not recognised: a token is random and used for one claim.
package fence
