package bench

import "bytes"

// verb is the type of a relay's message, as far as it matters here.
type verb uint8

const (
	verbOther verb = iota // AUTH, COUNT, anything unknown
	verbEvent
	verbOK
	verbEOSE
	verbClosed
	verbNotice
)

// message is the beginning of a relay's message; the rest is not looked at.
type message struct {
	verb verb
	name []byte // the subscription id, OK: the event's, NOTICE: the text; escapes left as they are
	rest []byte // what follows the name
}

// parse reads the beginning of a message. It allows blanks wherever JSON does.
// What it returns lies in p.
func parse(p []byte) (m message, ok bool) {
	p, ok = cut(p, '[')
	if !ok {
		return m, false
	}
	name, p, ok := text(p)
	if !ok {
		return m, false
	}
	switch string(name) {
	case "EVENT":
		m.verb = verbEvent
	case "OK":
		m.verb = verbOK
	case "EOSE":
		m.verb = verbEOSE
	case "CLOSED":
		m.verb = verbClosed
	case "NOTICE":
		m.verb = verbNotice
	}
	if p, ok = cut(p, ','); !ok {
		return m, false
	}
	m.name, m.rest, ok = text(p)
	return m, ok
}

// verdict reads the rest of an OK or, without a verdict, of a CLOSED.
func (m *message) verdict() (accepted bool, reason []byte, ok bool) {
	p, ok := cut(m.rest, ',')
	if !ok {
		return false, nil, false
	}
	p = blanks(p)
	switch {
	case m.verb == verbClosed:
	case bytes.HasPrefix(p, []byte("true")):
		accepted = true
		p, ok = cut(p[len("true"):], ',')
	case bytes.HasPrefix(p, []byte("false")):
		p, ok = cut(p[len("false"):], ',')
	default:
		return false, nil, false
	}
	if !ok { // the text is optional to some
		return accepted, nil, true
	}
	reason, _, ok = text(p)
	return accepted, reason, ok
}

// idSize is the length of an event id in hex digits.
const idSize = 64

// eventID returns the id of the event that follows in the rest. Only as a key of
// the event can "id" be followed by a colon: in strings its quotes are escaped.
func (m *message) eventID() (id []byte, ok bool) {
	p := m.rest
	for {
		i := bytes.Index(p, []byte(`"id"`))
		if i < 0 {
			return nil, false
		}
		p = p[i+len(`"id"`):]
		if value, ok := cut(p, ':'); ok {
			id, _, ok = text(value)
			return id, ok && len(id) == idSize
		}
	}
}

// cut takes c from the beginning of p, and blanks before it.
func cut(p []byte, c byte) (rest []byte, ok bool) {
	p = blanks(p)
	if len(p) == 0 || p[0] != c {
		return p, false
	}
	return p[1:], true
}

func blanks(p []byte) []byte {
	for len(p) > 0 && (p[0] == ' ' || p[0] == '\t' || p[0] == '\n' || p[0] == '\r') {
		p = p[1:]
	}
	return p
}

// text takes a string from the beginning of p, and blanks before it.
func text(p []byte) (s, rest []byte, ok bool) {
	if p, ok = cut(p, '"'); !ok {
		return nil, p, false
	}
	for from := 0; ; {
		i := bytes.IndexByte(p[from:], '"')
		if i < 0 {
			return nil, p, false
		}
		if i += from; !escaped(p[:i]) {
			return p[:i], p[i+1:], true
		}
		from = i + 1
	}
}

// escaped reports whether what follows p is escaped: an odd number of
// backslashes stands before it.
func escaped(p []byte) bool {
	n := 0
	for n < len(p) && p[len(p)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}
