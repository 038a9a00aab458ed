// Package dapr stands in for a Dapr sidecar in tests of fences that are kept beside the
// relay's store. Memory is a key-value store with versions; Sidecar serves it by the part of
// Dapr's HTTP API that package lifecycle/fence/dapr uses. There is no real Dapr here: what
// they do is written from Dapr's documentation and from the source of its Redis component.
//
// A Kind says how a component behaves. Atomic carries a transaction out or not at all, as
// the PostgreSQL component does. Redis checks each operation by itself: those whose
// condition holds, or that have none, are carried out although another one failed, and the
// whole is answered with an error.
//
// All methods may be called from any goroutine.
package dapr
