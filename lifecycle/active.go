package lifecycle

import "time"

// Opened returns when the connection began.
func (c *Conn) Opened() time.Time { return c.opened }

// Touch notes that the client sent a message at now. It costs one atomic store.
func (c *Conn) Touch(now time.Time) { c.active.Store(now.UnixNano()) }

// Active returns when the client last sent a message, or when the connection began.
// Pings and pongs do not count: they say that a program runs, not that it is used.
func (c *Conn) Active() time.Time {
	if at := c.active.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return c.opened
}
