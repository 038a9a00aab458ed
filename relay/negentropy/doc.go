// Package negentropy finds out how two sets of events differ, by range-based set
// reconciliation as NIP-77 has it, protocol version 1. It does no I/O, holds no lock and
// knows nothing of connections; messages are bytes here and hexadecimal on the wire.
//
// A Set is made once and never changes; any number of goroutines may use it. Its Reply is
// the server's whole part, without a state between two messages. A Client has one: it
// begins with Start, gives every answer to Next, and knows when it is done what each side
// lacks.
//
// Why not go-nostr's package of the same name, which the rest of the vocabulary comes
// from: it was made for messages from friends. A bound or a number of ids that is too
// large makes it panic or ask for all memory, what is no hexadecimal reaches the answer
// unescaped, and a fingerprint costs a walk over the range. Here every message is checked
// while it is read, an error is all that a bad one causes, memory is bounded by the set and
// by the limit of a frame, and a fingerprint costs one hash. In small frames its client
// misses ids. The tests reconcile with go-nostr's client and server all the same.
package negentropy
