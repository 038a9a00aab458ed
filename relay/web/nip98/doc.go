// Package nip98 authenticates HTTP requests (NIP-98): the client's side signs a
// request, the relay's side verifies it.
//
// A token is an event of kind 27235, sent in the Authorization header as base64.
// It stands for one request: its URL, its method, its body, within a minute of
// its created_at, and once. Verifier.Verify checks all of that. What it does not
// do is read the body: the caller bounds and reads it, and hands over all of it.
//
// A token that is refused is not remembered, so memory is spent only on requests
// of those whom the caller's function lets in. Ledgers that replicas share keep a
// token from being used once on each of them.
//
// created_at has seconds only, so a token of the second in which the ledger began
// is refused with the older ones.
//
// A Verifier may be used from any goroutine. It blocks as long as its Ledger does.
package nip98
