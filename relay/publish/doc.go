// Package publish is the HTTP side of fenced publishers: external writers whose ownership
// of a stream moves between processes.
//
//	POST /api/publishers/{stream}/fence    claims, renews or revokes the fence
//	POST /api/publishers/{stream}/frames   publishes one event under a token
//	GET  /api/publishers/{stream}          shows the fence
//	GET  /api/openapi.json                 describes these calls; needs no authentication
//
// Every call but the last is signed (NIP-98) by the key that the stream belongs to; a
// stream name of one key says nothing about that of another. The author of an event may
// be anybody who may write here: an event is judged like an EVENT message whose connection
// has authenticated as the stream's key.
//
// What package fence promises, an Engine keeps. A Native one does it in the store's own
// commit, so a frame is in the log when the call returns, in the order of its stream.
// Other engines stand beside the store (package fence/kv).
//
// Answers are JSON. A refusal is that of package reply: the code as in gRPC, a sentence
// that may be shown, and the present epoch of the fence where it has one, never anybody's
// token. ABORTED is 409, FAILED_PRECONDITION 412, RESOURCE_EXHAUSTED 429;
// REFUSED, 422, is an event that may not be written, with the reason that NIP-01 has for
// it. An event that the relay holds already is 200 with "duplicate": true, whoever
// published it, and takes no number.
//
// Bodies are read strictly: one JSON object of the known members, each once, with the
// right types, in UTF-8.
//
// The handler keeps nothing, starts nothing, and blocks as long as its Engine does.
package publish
