// Package handlers answers what a client sends, one file a verb. It holds no
// goroutine and no lock of its own: order comes from the reader that calls
// Handle, exclusion from the lifecycle lock, and work that takes time runs in
// the connection's group through lifecycle.Conn.Query and lifecycle.Lane.
//
// Handle decodes, decides and takes effect in the order of its calls (G9). REQ
// and COUNT read the store in a query of their own; EVENT is checked in the
// shared pool and committed in read order; CLOSE and AUTH end before Handle
// returns. Handle blocks while there is no room for the answer that its message
// is owed, which is how a client that does not read is slowed down (G8).
package handlers
