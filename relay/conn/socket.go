package conn

import (
	"context"
	"time"

	"fencepost/lifecycle"
)

// Socket carries messages to and from one client. Only the reader calls Read,
// only the writer calls Write and Close; Ping and CloseNow may be called at any
// time. It has deadlines instead of contexts: contexts that end would cost an
// allocation a message.
type Socket interface {
	// Read blocks until a whole message has arrived; the caller keeps msg. It
	// fails with an *EndError when the client broke or ended the protocol, and
	// with any other error when the connection is lost. CloseNow ends it.
	Read() (msg []byte, err error)
	// Write writes all frames in one go and keeps none. The zero deadline is
	// none. After an error the socket is of no use.
	Write(deadline time.Time, frames []lifecycle.Frame) error
	// Ping returns nil once the client has given a sign of life after a ping.
	Ping(ctx context.Context) error
	// Close writes a close frame and waits for the client's. CloseNow cuts it short.
	Close(code int, text string) error
	// CloseNow closes the socket as it is and makes the other calls return.
	CloseNow()
}
