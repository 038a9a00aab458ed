package wire

import "encoding/hex"

// Closed is the prefix of a NEG-ERR for a negotiation that is over (NIP-77).
const Closed Prefix = "closed"

type (
	// NegOpenMessage is ["NEG-OPEN", id, filter, message] (NIP-77). What the message
	// holds is not checked; there is at least one byte.
	NegOpenMessage struct {
		ID      string
		Filter  *Filter
		Message []byte
	}
	// NegMsgMessage is ["NEG-MSG", id, message] (NIP-77), with a message as above.
	NegMsgMessage struct {
		ID      string
		Message []byte
	}
	// NegCloseMessage is ["NEG-CLOSE", id] (NIP-77).
	NegCloseMessage struct{ ID string }
)

func (*NegOpenMessage) verb() string  { return "NEG-OPEN" }
func (*NegMsgMessage) verb() string   { return "NEG-MSG" }
func (*NegCloseMessage) verb() string { return "NEG-CLOSE" }

func (d *decoder) negOpen() (m *NegOpenMessage, ok bool) {
	m = &NegOpenMessage{}
	if !d.messageSub() {
		return nil, false
	}
	m.ID = d.sub
	if !d.take(',') {
		return nil, d.fail("NEG-OPEN needs a filter")
	}
	if m.Filter, ok = d.filter(); !ok {
		return nil, false
	}
	if m.Message, ok = d.negMessage(); !ok {
		return nil, false
	}
	return m, d.messageEnd()
}

func (d *decoder) negMsg() (m *NegMsgMessage, ok bool) {
	m = &NegMsgMessage{}
	if !d.messageSub() {
		return nil, false
	}
	m.ID = d.sub
	if m.Message, ok = d.negMessage(); !ok {
		return nil, false
	}
	return m, d.messageEnd()
}

// negMessage reads the last element: hex digits of either case.
func (d *decoder) negMessage() ([]byte, bool) {
	if !d.take(',') {
		return nil, d.fail(d.verb + " needs a message")
	}
	text, ok := d.text("negentropy message")
	if !ok {
		return nil, false
	}
	message, err := hex.DecodeString(text)
	if err != nil || len(message) == 0 {
		return nil, d.fail("negentropy message is not hexadecimal")
	}
	return message, true
}

// AppendNegOpen appends ["NEG-OPEN", sub, filter, message], which a client sends.
func AppendNegOpen(dst []byte, sub string, f *Filter, message []byte) []byte {
	dst = AppendString(append(dst, `["NEG-OPEN",`...), sub)
	return appendNegMessage(AppendFilter(append(dst, ','), f), message)
}

// AppendNegMsg appends ["NEG-MSG", sub, message], which both sides send.
func AppendNegMsg(dst []byte, sub string, message []byte) []byte {
	return appendNegMessage(AppendString(append(dst, `["NEG-MSG",`...), sub), message)
}

// NegMsgLen returns the most bytes that AppendNegMsg appends for a message of n bytes.
func NegMsgLen(sub string, n int) int { return len(`["NEG-MSG","",""]`) + 6*len(sub) + 2*n }

func appendNegMessage(dst, message []byte) []byte {
	return append(hex.AppendEncode(append(dst, ',', '"'), message), '"', ']')
}

// AppendNegClose appends ["NEG-CLOSE", sub], which a client sends.
func AppendNegClose(dst []byte, sub string) []byte {
	return append(AppendString(append(dst, `["NEG-CLOSE",`...), sub), ']')
}

// AppendNegErr appends ["NEG-ERR", sub, reason].
func AppendNegErr(dst []byte, sub string, r Reason) []byte {
	dst = AppendString(append(dst, `["NEG-ERR",`...), sub)
	return append(AppendString(append(dst, ','), r.String()), ']')
}
