package client

import (
	"context"

	"github.com/coder/websocket"

	"fencepost/relay/wire"
)

// read is the reader goroutine. It ends with the connection.
func (c *Client) read(ctx context.Context) {
	defer close(c.inbox)
	for {
		kind, data, err := c.conn.Read(ctx)
		if err != nil {
			c.end(lostWhile("read", err))
			return
		}
		m, err := decode(kind, data)
		if err == nil && c.consume(m) {
			continue
		}
		select {
		case c.inbox <- received{message: m, err: err}:
		case <-c.closing: // read on, so that the close handshake can end
		}
	}
}

func decode(kind websocket.MessageType, data []byte) (wire.RelayMessage, error) {
	if kind != websocket.MessageText {
		return wire.RelayMessage{}, &wire.Error{Reason: wire.Because(wire.Invalid, "message is binary")}
	}
	return wire.DecodeRelay(data)
}

// consume keeps a challenge and gives an OK to who waits for it. It reports
// whether the message is done with.
func (c *Client) consume(m wire.RelayMessage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m.Verb {
	case "AUTH":
		c.challenge = m.Text
	case "OK":
		if waiting := c.waiting[m.ID]; len(waiting) > 0 {
			waiting[0] <- m // has room for the one answer it gets
			c.dropLocked(m.ID, waiting[0])
			return true
		}
	}
	return false
}

func (c *Client) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		err = ErrClosed
	}
	c.err = err
	for id, waiting := range c.waiting {
		for _, w := range waiting {
			close(w)
		}
		delete(c.waiting, id)
	}
}

// ended returns why the reader ended, nil while it runs.
func (c *Client) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
