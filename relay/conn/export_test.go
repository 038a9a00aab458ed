package conn

import (
	"context"
	"net"
	"time"
)

// Messages reads from c until there is nothing more to read, as a webSocket does, and
// returns the messages, the payloads of pings and pongs, and why it ended.
func Messages(c net.Conn, max int64, deflate bool) (msgs, controls []string, err error) {
	s := NewServer(context.Background(), Options{})
	sock := newWebSocket(s, newWireConn(c, 0, nil), max, deflate)
	sock.in.control = func(_ byte, payload []byte) { controls = append(controls, string(payload)) }
	for {
		msg, err := sock.Read()
		if err != nil {
			return msgs, controls, err
		}
		msgs = append(msgs, string(msg))
	}
}

// Unmask is unmask.
func Unmask(p []byte, key uint32) (rotated uint32) { return unmask(p, key) }

// Wire is a wireConn.
type Wire struct{ *wireConn }

// NewWire returns c as a connection to whose control frames no timeout applies.
func NewWire(c net.Conn) Wire { return Wire{newWireConn(c, 0, nil)} }

// WriteFrames is writeFrames.
func (w Wire) WriteFrames(deadline time.Time, frames []byte, last bool) error {
	return w.writeFrames(deadline, frames, last)
}
