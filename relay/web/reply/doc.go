// Package reply writes the answers of the HTTP calls: whole ones, and one form for all that
// is refused, whoever serves the call.
//
// A refusal is JSON: {"code", "message", "error"}, and with a publisher's fence "epoch". The
// code is that of gRPC; it follows from the status where the status says enough. The message
// is a sentence that may be shown, of what concerns keys, events or tokens with a prefix of
// NIP-01. error is the message again: clients of the management API (NIP-86) look there.
//
// Nothing here keeps anything or blocks beyond the write. An error of a write means that
// the client is gone, which is nobody's concern here.
package reply
