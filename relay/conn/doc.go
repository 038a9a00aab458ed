// Package conn is the WebSocket side of a connection: the upgrade, one reader,
// one writer while there is something to write, pings, close codes, and the
// client's address behind proxies.
//
// What a message means is the business of a Session, which Options.Open makes
// for each connection; what may still be sent is that of lifecycle.Conn. This
// package moves bytes between them and a Socket.
//
// The WebSocket library does the handshake. What comes after it is read and written
// here (RFC 6455, and RFC 7692 without context takeover): a connection that waits
// for its client holds no read buffer, no writer and nothing of the library's. At
// rest it is one goroutine with 4 KiB of stack and about as much heap.
//
// The reader hands messages to Session.Handle one after another, in the order
// in which they were read (G9). Everything to the client goes through the
// lifecycle queue: the writer takes batches of at most 64 KiB and writes each
// with one call. Control frames go between batches, never into one.
//
// Guard caps sockets before there is any HTTP, and so whatever they are used for;
// the caps on WebSockets themselves count the client behind a proxy.
//
// A blocked address gets 403 and no upgrade; Gate holds for all of HTTP. Who is
// blocked during the upgrade finds out after the connection is registered, where
// whoever blocks an address looks for those to end.
//
// A connection ends in this order, whoever begins it: Conn.Close; the context
// that Handle got ends; the writer flushes the answers that are still due and
// writes the close frame, which carries the client's code if the client began; the reader returns; Conn.Finish, Session.End,
// Group.Wait; the registry forgets the connection. FlushTimeout after Conn.Close
// the socket is closed as it is. Nothing of a connection outlives Serve.
//
// A panic in a goroutine of a connection ends that connection with 1011, is
// logged with its stack and counted under the reason "panic".
//
// A client that stops reading holds up its own writer only: a batch that the
// socket does not take within WriteTimeout ends the connection. What is written
// is offered to the socket first, which nearly always takes it all, and only for a
// rest is there a deadline. Without a socket that can be asked so (TLS, or not Unix)
// there is one for every write.
//
// A peer that gives no sign of life within PongTimeout of a ping is dead. While a
// message is handled or a batch is written nobody looks for the sign, so a ping
// then proves nothing and is asked again.
package conn
