package store

import "encoding/binary"

// AppendTo appends the form in which stores keep c: how many scopes, as four bytes, each
// with its length before it, the same way, and then the data.
func (c *Control) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(c.Scopes)))
	for _, scope := range c.Scopes {
		dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(scope))), scope...)
	}
	return append(dst, c.Data...)
}

// ParseControl reads what AppendTo made, of which it keeps nothing; ok is false for
// what is cut short.
func ParseControl(body []byte) (_ *Control, ok bool) {
	left, body, ok := cutUint32(body)
	c := &Control{}
	for ; ok && left > 0; left-- {
		var n uint32
		if n, body, ok = cutUint32(body); !ok || uint64(len(body)) < uint64(n) {
			return nil, false
		}
		c.Scopes = append(c.Scopes, string(body[:n]))
		body = body[n:]
	}
	if !ok {
		return nil, false
	}
	c.Data = append(c.Data, body...)
	return c, true
}

func cutUint32(b []byte) (n uint32, rest []byte, ok bool) {
	if len(b) < 4 {
		return 0, nil, false
	}
	return binary.BigEndian.Uint32(b), b[4:], true
}
