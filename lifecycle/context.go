package lifecycle

import (
	"context"
	"time"
)

// Context ends when Close is called, with what is done about messages that were
// read: it is what the reader hands on. It costs no memory of its own.
func (c *Conn) Context() context.Context { return openness{c} }

// openness is the context of a connection while it is open.
type openness struct{ conn *Conn }

// Deadline implements context.Context.
func (openness) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done implements context.Context.
func (o openness) Done() <-chan struct{} { return o.conn.closing }

// Err implements context.Context.
func (o openness) Err() error {
	select {
	case <-o.conn.closing:
		return context.Canceled
	default:
		return nil
	}
}

// Value implements context.Context.
func (o openness) Value(key any) any { return o.conn.group.Context().Value(key) }

// Context ends when the generation is retired or live.
func (h *Handle) Context() context.Context {
	h.conn.mu.Lock()
	defer h.conn.mu.Unlock()
	if h.ctx == nil {
		return stopped{h.conn.group.Context()}
	}
	return h.ctx
}

// stop ends the generation's context and forgets it: an idle subscription has none.
func (h *Handle) stop() {
	if cancel := h.forgetContext(); cancel != nil {
		cancel()
	}
}

func (h *Handle) forgetContext() (cancel context.CancelFunc) {
	h.conn.mu.Lock()
	defer h.conn.mu.Unlock()
	cancel = h.cancel
	h.ctx, h.cancel = nil, nil
	return cancel
}

// stopped is a context that has ended.
type stopped struct{ context.Context }

// Done implements context.Context.
func (stopped) Done() <-chan struct{} { return closedChannel }

// Err implements context.Context.
func (stopped) Err() error { return context.Canceled }

var closedChannel = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
