package wire

import "unicode/utf8"

// MaxSubID is the length of the longest subscription id, in runes (NIP-01).
const MaxSubID = 64

// Decode reads one client message. An error is always an *Error. Data is copied
// once and not retained.
func Decode(data []byte) (Message, error) {
	d := newDecoder(data)
	m, ok := d.message()
	if !ok {
		return nil, d.refusal()
	}
	return m, nil
}

// DecodeEvent reads one JSON object as an event, strictly, and makes its wire
// form. It checks neither id nor signature. An error is always an *Error. Data
// is copied once and not retained.
func DecodeEvent(data []byte) (*Event, error) {
	d := newDecoder(data)
	e, ok := d.event()
	if !ok || !d.finish() {
		return nil, d.refusal()
	}
	return e, nil
}

// DecodeFilter reads one JSON object as a filter, strictly. An error is always
// an *Error. Data is copied once and not retained.
func DecodeFilter(data []byte) (*Filter, error) {
	d := newDecoder(data)
	f, ok := d.filter()
	if !ok || !d.finish() {
		return nil, d.refusal()
	}
	return f, nil
}

// refusal says what was wrong and what could be read all the same.
func (d *decoder) refusal() *Error {
	err := &Error{Reason: d.reason, Verb: d.verb, Sub: d.sub, HasSub: d.hasSub}
	if d.eventAt >= 0 {
		err.EventID = d.findID()
	}
	return err
}

func (d *decoder) message() (Message, bool) {
	if !d.take('[') {
		return nil, d.fail("message is not a JSON array")
	}
	verb, ok := d.text("message type")
	if !ok {
		return nil, false
	}
	d.verb = verb
	switch verb {
	case "EVENT":
		e, ok := d.messageEvent()
		return &EventMessage{Event: e}, ok
	case "AUTH":
		e, ok := d.messageEvent()
		return &AuthMessage{Event: e}, ok
	case "REQ":
		filters, ok := d.messageFilters()
		return &ReqMessage{ID: d.sub, Filters: filters}, ok
	case "COUNT":
		filters, ok := d.messageFilters()
		return &CountMessage{ID: d.sub, Filters: filters}, ok
	case "CHANGES":
		m, ok := d.changes()
		return m, ok
	case "NEG-OPEN":
		return d.negOpen()
	case "NEG-MSG":
		return d.negMsg()
	case "NEG-CLOSE":
		ok := d.messageSub() && d.messageEnd()
		return &NegCloseMessage{ID: d.sub}, ok
	case "CLOSE":
		ok := d.messageSub() && d.messageEnd()
		return &CloseMessage{ID: d.sub}, ok
	default:
		return nil, d.refuse(Because(Unsupported, "unknown message type"))
	}
}

func (d *decoder) messageEvent() (*Event, bool) {
	if !d.take(',') {
		return nil, d.fail(d.verb + " needs an event")
	}
	e, ok := d.event()
	return e, ok && d.messageEnd()
}

func (d *decoder) messageFilters() ([]*Filter, bool) {
	if !d.messageSub() {
		return nil, false
	}
	filters := make([]*Filter, 0, 1)
	for d.take(',') {
		f, ok := d.filter()
		if !ok {
			return nil, false
		}
		filters = append(filters, f)
	}
	if !d.messageEnd() {
		return nil, false
	}
	if len(filters) == 0 {
		return nil, d.fail(d.verb + " needs at least one filter")
	}
	return merge(filters), true
}

// messageSub reads the subscription id. A bad one is kept as well, as far as it
// can be echoed.
func (d *decoder) messageSub() bool {
	if !d.take(',') {
		return d.fail(d.verb + " needs a subscription id")
	}
	id, ok := d.text("subscription id")
	if !ok {
		return false
	}
	d.sub, d.hasSub = id, true
	if id == "" {
		return d.fail("subscription id is empty")
	}
	if len(id) > MaxSubID && utf8.RuneCountInString(id) > MaxSubID {
		d.sub = firstRunes(id, MaxSubID) + "…" // too long, too: it must not name another subscription
		return d.fail("subscription id is longer than 64 characters")
	}
	return true
}

func (d *decoder) messageEnd() bool {
	if d.peek() == ',' {
		return d.fail(d.verb + " has too many elements")
	}
	if !d.take(']') {
		return d.fail("message is cut off")
	}
	return d.finish()
}

// firstRunes returns at most n runes of s.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
