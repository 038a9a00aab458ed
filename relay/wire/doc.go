// Package wire is the vocabulary of the NIP-01 protocol: what a client may
// send, what the relay answers, and the one predicate that says whether an
// event matches a filter.
//
// Decoding is strict: a message that is not exactly what NIP-01 describes is an
// *Error that says what can be answered to it. Encoding appends to the caller's
// buffer and allocates nothing else. An event keeps its wire form, the JSON
// bytes of its seven signed fields, which is made once and then only copied.
//
// Nothing here blocks, locks or starts a goroutine. Decoded values are not
// changed after they are returned and may be shared by goroutines.
package wire
