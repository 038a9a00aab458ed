package lifecycle

import "slices"

// Keys returns the keys that have authenticated on this connection (NIP-42), hex,
// in the order in which they did. The caller must not change them. It does not
// lock.
func (c *Conn) Keys() []string {
	if keys := c.keys.Load(); keys != nil {
		return *keys
	}
	return nil
}

// AddKey adds a key that has authenticated. Only the reader calls it. Whoever
// adds a key asks afterwards whether it has been banned: a ban that came before
// has not seen it here.
func (c *Conn) AddKey(key string) {
	if keys := c.Keys(); !slices.Contains(keys, key) {
		keys = append(slices.Clone(keys), key)
		c.keys.Store(&keys)
	}
}

// Handles returns the generations that are not retired, in no order.
func (c *Conn) Handles() []*Handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*Handle, 0, c.current)
	for _, h := range c.slots {
		if h.state != retired {
			all = append(all, h)
		}
	}
	return all
}
