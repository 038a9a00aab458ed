package client

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

const (
	defaultMaxMessage = 4 << 20
	defaultBuffer     = 64
	// endTimeout bounds the wait for the reader once its connection is closed.
	endTimeout = 5 * time.Second
)

// ErrClosed is what Next and Publish return after Close.
var ErrClosed = errors.New("client is closed")

// Options of a client. The zero value is usable.
type Options struct {
	MaxMessage int64       // bytes of the longest message accepted; 0 is 4 MiB
	Buffer     int         // messages read ahead of Next; 0 is 64
	Header     http.Header // sent with the handshake
}

// Client is one connection to a relay. Its methods may be called from any
// goroutine; Next by one at a time, if the order of messages matters.
type Client struct {
	// Set at construction, never changed.
	url     string
	conn    *websocket.Conn
	group   *lifecycle.Group
	inbox   chan received // closed by the reader when it ends
	closing chan struct{} // closed by Close

	mu sync.Mutex // guards the fields below; never held across I/O
	// +checklocks:mu
	waiting map[string][]chan wire.RelayMessage // event id -> who waits for its OK, first come first
	// +checklocks:mu
	challenge string // the last one received
	// +checklocks:mu
	closed bool
	// +checklocks:mu
	err error // why the reader ended; set before inbox is closed
}

// received is one message, or why it could not be decoded.
type received struct {
	message wire.RelayMessage
	err     error
}

// Dial connects to a relay at a ws or wss URL. ctx bounds the handshake only. An error is
// an *Unreachable.
func Dial(ctx context.Context, url string, o Options) (*Client, error) {
	if o.MaxMessage <= 0 {
		o.MaxMessage = defaultMaxMessage
	}
	if o.Buffer <= 0 {
		o.Buffer = defaultBuffer
	}
	conn, answer, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: o.Header})
	if err != nil {
		if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
			err = errors.New("the relay answers " + answer.Status)
		}
		return nil, &Unreachable{URL: url, Err: err}
	}
	conn.SetReadLimit(o.MaxMessage)
	c := &Client{
		url:     url,
		conn:    conn,
		group:   lifecycle.NewGroup(context.WithoutCancel(ctx)),
		inbox:   make(chan received, o.Buffer),
		closing: make(chan struct{}),
		waiting: make(map[string][]chan wire.RelayMessage),
	}
	c.group.Go("client reader", c.read)
	return c, nil
}

// Send writes one message. It blocks while the peer does not read; when ctx ends
// before the message is written, the connection is closed.
func (c *Client) Send(ctx context.Context, message []byte) error {
	if err := c.conn.Write(ctx, websocket.MessageText, message); err != nil {
		return lostWhile("send", err)
	}
	return nil
}

// Next returns the next message that is not the answer to a Publish. It blocks
// until there is one, ctx ends (which harms nothing) or the connection ends;
// what was received before the end is returned first. A *wire.Error concerns
// one message that could not be decoded: the connection goes on. Any other error
// but ctx's is final; it says in a few words when the relay closed the connection, and
// websocket.CloseStatus tells the close code.
func (c *Client) Next(ctx context.Context) (wire.RelayMessage, error) {
	select {
	case r, ok := <-c.inbox:
		if !ok {
			return wire.RelayMessage{}, c.ended()
		}
		return r.message, r.err
	case <-ctx.Done():
		return wire.RelayMessage{}, ctx.Err()
	}
}

// Close ends the connection with code 1000 and waits for the reader. What was
// not taken by Next is lost. It may be called again.
func (c *Client) Close() error {
	return c.finish(func() error { return c.conn.Close(websocket.StatusNormalClosure, "") })
}

// Abort is Close without a word to the peer, which may not listen.
func (c *Client) Abort() error { return c.finish(c.conn.CloseNow) }

func (c *Client) finish(closing func() error) error {
	if !c.beginClose() {
		return nil
	}
	_ = closing() // the peer may be gone already; the connection is released in any case
	c.group.Cancel()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.group.Context()), endTimeout)
	defer cancel()
	return c.group.Wait(ctx)
}

func (c *Client) beginClose() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.closed = true
	close(c.closing)
	return true
}
