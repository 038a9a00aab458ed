// Package dapr is a kv.KV over the state API of a Dapr sidecar, by HTTP:
//
//	GET  /v1.0/metadata                       the components and what they can do
//	GET  /v1.0/state/{store}/{key}            value and ETag; 204 where there is nothing
//	POST /v1.0/state/{store}/transaction      upserts and deletes
//
// Reads ask for strong consistency. A guarded operation is one of first-write concurrency
// with the ETag of the version, or without one where there must be none. Which status a
// component answers a conflict with differs (409, 500), so every failure is the same error
// here, and package kv looks what has happened.
//
// A component that lacks ETAG or TRANSACTIONAL in the sidecar's metadata cannot keep
// fences; Missing says so. A Client holds no state and may be used from any goroutine. Calls
// block for as long as the sidecar does, and Options.Timeout at most.
package dapr
