package harness

import (
	"slices"

	"fencepost/regress/trace"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// judge says what one client may see.
type judge struct{ client *Client }

// Judge returns what the client is allowed to see, from the log and not from the
// relay's own state. What an outside decision says is not part of it, and nothing
// is owed where there is one.
func (c *Client) Judge() trace.Judge { return judge{c} }

// judge returns the judge of a client's trace, nil where the test decides itself who
// may see what.
func (r *Relay) judge(c *Client) trace.Judge {
	if !r.judged {
		return nil
	}
	return c.Judge()
}

// May implements trace.Judge: by the permissions that are in force here, and, above
// them, by those at the event's own position as well.
func (j judge) May(at store.Position, ev *wire.Event) bool {
	h, keys := j.client.relay.history, j.client.Conn.Keys()
	applied, applying := h.now()
	for _, now := range []store.Position{applied, applying} {
		if h.shows(now, keys, ev) && (at <= now || h.shows(at, keys, ev)) {
			return true
		}
	}
	return false
}

// Owed implements trace.Judge.
func (j judge) Owed(at store.Position, ev *wire.Event) bool {
	r := j.client.relay
	if r.options.Outside != nil {
		return false
	}
	keys := j.client.keysAt(at)
	applied, _ := r.history.now()
	for _, position := range append(r.history.positions(at, applied), at, applied) {
		if !r.history.shows(position, keys, ev) {
			return false
		}
	}
	return true
}

// Refuses returns why a REQ of these filters is closed to the client by what is in
// force here, or nil.
func (c *Client) Refuses(filters []*wire.Filter) error {
	applied, _ := c.relay.history.now()
	return c.relay.history.at(applied).MayRead(c.Conn.Keys(), filters)
}

// known is a key, and what was committed when the client had it.
type known struct {
	key   string
	after store.Position
}

// Login has the client hold keys, as if they had authenticated. Only the reader
// may be calling it.
func (c *Client) Login(keys ...string) {
	for _, key := range keys {
		c.Conn.AddKey(key)
	}
	c.noteKeys()
}

// noteKeys remembers since when the client has which key.
func (c *Client) noteKeys() {
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := c.Conn.Keys()[len(c.keys):]
	if len(fresh) == 0 {
		return
	}
	info, _ := c.relay.Store.Log(c.relay.ctx) // a store that is closed commits nothing more
	for _, key := range fresh {
		c.keys = append(c.keys, known{key: key, after: info.Head})
	}
}

// keysAt returns the keys that the client had when that position was committed.
func (c *Client) keysAt(at store.Position) (keys []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.keys {
		if k.after < at {
			keys = append(keys, k.key)
		}
	}
	return slices.Clip(keys)
}
