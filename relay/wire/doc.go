// Package wire is the vocabulary of the NIP-01 protocol: what a client may
// send, what the relay answers, and the one predicate that says whether an
// event matches a filter. The client's side of it (AppendReq, DecodeRelay) serves
// this project's own clients.
//
// Decoding is strict: a message that is not exactly what NIP-01 describes is an
// *Error that says what can be answered to it. Refused are, beside what is no
// JSON: wrong types, null, a field twice, numbers that are not plain integers
// from 0 to 2^63-1, kinds over 65535, ids, keys and signatures that are not
// lower-case hex of their length (in ids, authors, #e and #p of a filter too),
// empty tags, subscription ids that are empty or over MaxSubID runes, half
// surrogate pairs, invalid UTF-8, unknown fields in a filter, surplus elements in
// a message. Surplus fields of an event are read, nested at most 32 deep, and
// dropped. Strings may use every escape of JSON.
//
// CHANGES is of the draft NIP-CF: a filter whose since is a position in the log, or a
// token of one, with further fields. It has neither until nor search. A since that is
// a text but no token is decoded as foreign, not refused: its holder must fetch
// everything anew and is told so.
//
// Decoding takes time and memory in proportion to the message, whatever it
// holds; the caller bounds the size of messages.
//
// Matching a filter takes time in proportion to its conditions and the values
// they list, however many tags the event has. For that, an event of many tags
// keeps them as sets too, which its maker pays for once.
//
// A search (NIP-50) is part of the predicate: a filter asks for words, an event has
// words (Event.Words), and a store that keeps them finds what the predicate says. What
// is "key:value" in a search is ignored. The words of an event are cut when the first
// search asks, and then kept with it as hashes, 32 KiB at most.
//
// Encoding appends to the caller's buffer and allocates nothing else. Strings
// handed to it must be valid UTF-8, as all decoded ones are.
//
// An event keeps its wire form, the JSON bytes of its seven signed fields, which
// is made once and then only copied. It is the received bytes when they hold
// just those fields, no blank outside strings and no escapes where none can be
// needed; otherwise it is rendered anew. An event keeps at most 512 bytes of
// the message around it in memory.
//
// Nothing here blocks, locks or starts a goroutine. Decoded values are not
// changed after they are returned and may be shared by goroutines.
package wire
