// Package commit is the group commit that both durable stores share: callers queue what
// they want written and wait, and one writer takes as much as one commit can hold. It
// stands apart so that order, bounds, withdrawal and closing are the same, and proved
// once.
//
// A Queue holds requests in the order of their arrival, bounded in bytes. Any goroutine
// may call Do, which waits until the writer has answered the request; one goroutine, the
// store's writer, calls Take and answers. It starts no goroutine. Its one lock is held
// for memory only.
package commit
