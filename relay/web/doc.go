// Package web is what the relay serves over HTTP beside the WebSocket itself:
//
//	/          the endpoint: the socket, the NIP-11 document, a page or management
//	/healthz   200 while the process serves; never looks at the store
//	/readyz    200 or 503 with the reasons, for load balancers
//	/metrics   for Prometheus
//	/api/presence, /api/sessions   who is connected, with Options.Roster
//	/api/      whatever Options.API serves
//
// The endpoint is one path only (NIP-01): "/", or the path of relay.urls when
// the relay is mounted below one, with or without a trailing slash. There, an
// upgrade to WebSocket goes to the socket's handler. A request whose Accept
// header names application/nostr+json gets the NIP-11 document, unless the
// header prefers HTML by name; a wildcard neither selects the document nor
// outweighs it. Everything else gets a page for people that loads nothing from
// anywhere. CORS is open, as NIP-11 demands.
//
// A POST to the endpoint is a call of the management API (NIP-86): JSON of at most
// 64 KiB, signed (NIP-98) by the key of relay.pubkey, which is the only one that
// is let in. What is wrong with the request itself has a status of its own (400,
// 401, 403, 413, 415), what is wrong with the method is the error of an answer
// with status 200. A Gate, which keeps blocked addresses out, does not stand before
// it. Every refusal is that of package reply.
//
// Presence of keys is told to whoever signs (NIP-98), as far as the Roster lets that
// key know, and the sessions to the operator. Every answer says when it was observed
// and how old that is; when the index cannot be read it is 503, never "offline".
//
// Document and page follow the configuration that Options.Config returns at the
// moment of the request, so a reload changes them. Nothing here keeps state,
// starts a goroutine, or blocks beyond what the functions in Options do: the tokens
// that were used are in the ledgers of the verifiers: those of strangers apart, since
// anybody may fill theirs.
package web
