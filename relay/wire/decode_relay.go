package wire

// RelayMessage is one message of a relay, as its clients read it. Fields that
// the verb does not have are zero.
type RelayMessage struct {
	Verb        string   // EVENT, OK, EOSE, CLOSED, NOTICE, AUTH, COUNT, CHANGES, NEG-MSG or NEG-ERR
	Sub         string   // EVENT, EOSE, CLOSED, COUNT, CHANGES, NEG-*: the subscription id
	Event       *Event   // EVENT; neither id nor signature is checked yet
	ID          string   // OK, CHANGES REMOVED: the event id
	OK          bool     // OK: accepted
	Text        string   // OK, CLOSED, NOTICE, NEG-ERR: what it says; AUTH: the challenge
	Hints       []string // EOSE: "more", "finish" (NIP-67); nil without
	Count       int      // COUNT
	Approximate bool     // COUNT: Count is not exact (NIP-45)
	Message     []byte   // NEG-MSG (NIP-77)

	Change   string // CHANGES: EVENT, REMOVED, EOSE or ERR, with the fields of those verbs
	Position uint64 // CHANGES EVENT, REMOVED, EOSE
	Epoch    string // CHANGES EOSE, ERR
	Token    string // CHANGES EOSE: the position, for since
	More     bool   // CHANGES EOSE: the feed is over and there is more behind it
	Floor    uint64 // CHANGES ERR that is a resync
	Head     uint64 // the same
}

// DecodeRelay reads one message of a relay. It is as strict as Decode about JSON
// and about events, and ignores elements that it does not know (NIP-67). An
// error is always an *Error; its prefix is "unsupported" for an unknown verb.
// Data is copied once and not retained.
func DecodeRelay(data []byte) (RelayMessage, error) {
	d := newDecoder(data)
	m, ok := d.relayMessage()
	if !ok || !d.extraElements() || !d.finish() {
		return RelayMessage{}, d.refusal()
	}
	return m, nil
}

func (d *decoder) relayMessage() (m RelayMessage, ok bool) {
	if !d.take('[') {
		return m, d.fail("message is not a JSON array")
	}
	if m.Verb, ok = d.text("message type"); !ok {
		return m, false
	}
	d.verb = m.Verb
	switch m.Verb {
	case "EVENT":
		ok = d.relaySub(&m)
		if ok && !d.take(',') {
			return m, d.fail("EVENT needs an event")
		}
		if ok {
			m.Event, ok = d.event()
		}
	case "OK":
		ok = d.relayText("event id", &m.ID) && d.relayVerdict(&m) && d.relayOptional(&m.Text)
	case "EOSE":
		ok = d.relaySub(&m) && d.relayHints(&m)
	case "CLOSED":
		ok = d.relaySub(&m) && d.relayOptional(&m.Text)
	case "NOTICE":
		ok = d.relayText("text", &m.Text)
	case "AUTH":
		ok = d.relayText("challenge", &m.Text)
	case "COUNT":
		ok = d.relaySub(&m) && d.relayCount(&m)
	case "CHANGES":
		ok = d.relayChanges(&m)
	case "NEG-ERR":
		ok = d.relaySub(&m) && d.relayText("reason", &m.Text)
	case "NEG-MSG":
		if ok = d.relaySub(&m); ok {
			m.Message, ok = d.negMessage()
		}
	default:
		ok = d.refuse(Because(Unsupported, "unknown message type"))
	}
	return m, ok
}

// extraElements passes what follows in the message and its closing bracket.
func (d *decoder) extraElements() bool {
	for !d.take(']') {
		if !d.take(',') {
			return d.fail("message is cut off")
		}
		if !d.skip(maxDepth) {
			return false
		}
	}
	return true
}

func (d *decoder) relayText(what string, to *string) (ok bool) {
	if !d.take(',') {
		return d.fail(d.verb + " has no " + what)
	}
	*to, ok = d.text(what)
	return ok
}

func (d *decoder) relaySub(m *RelayMessage) bool {
	if !d.relayText("subscription id", &m.Sub) {
		return false
	}
	d.sub, d.hasSub = m.Sub, true
	return true
}

// relayOptional reads the human text, which some relays leave out.
func (d *decoder) relayOptional(to *string) bool {
	return d.peek() == ']' || d.relayText("text", to)
}

func (d *decoder) relayVerdict(m *RelayMessage) (ok bool) {
	if !d.take(',') {
		return d.fail("OK has no verdict")
	}
	m.OK, ok = d.boolean("verdict")
	return ok
}

func (d *decoder) boolean(what string) (v, ok bool) {
	switch d.peek() {
	case 't':
		return true, d.skipWord("true")
	case 'f':
		return false, d.skipWord("false")
	default:
		return false, d.fail(what + " is not true or false")
	}
}

// relayHints reads the strings of the list behind EOSE, if there is one.
func (d *decoder) relayHints(m *RelayMessage) bool {
	if !d.take(',') {
		return true
	}
	if !d.take('[') {
		return d.skip(maxDepth)
	}
	for n := 0; ; n++ {
		more, ok := d.element(n, ']')
		if !more {
			return ok
		}
		if d.peek() != '"' {
			ok = d.skip(maxDepth)
		} else {
			var hint string
			hint, ok = d.text("hint")
			m.Hints = append(m.Hints, hint)
		}
		if !ok {
			return false
		}
	}
}

func (d *decoder) relayCount(m *RelayMessage) bool {
	if !d.take(',') || !d.take('{') {
		return d.fail("COUNT has no object with the count")
	}
	counted := false
	for n := 0; ; n++ {
		more, ok := d.element(n, '}')
		if !ok {
			return false
		}
		if !more {
			return counted || d.fail("COUNT has no count")
		}
		key, ok := d.key()
		if !ok {
			return false
		}
		switch {
		case key == "count" && counted:
			return d.fail("COUNT has a field twice: count")
		case key == "count":
			var n int64
			n, ok = d.integer("count")
			m.Count, counted = int(n), true
		case key == "approximate":
			m.Approximate, ok = d.boolean(key)
		default:
			ok = d.skip(maxDepth)
		}
		if !ok {
			return false
		}
	}
}
