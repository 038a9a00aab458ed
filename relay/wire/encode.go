package wire

import (
	"strconv"

	"github.com/nbd-wtf/go-nostr"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string, escaped as NIP-01 escapes the
// canonical form: quote, backslash and the controls, everything else verbatim.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// AppendEventPrefix appends what stands before the event in an EVENT frame for
// sub; the event's wire form and "]" complete the frame.
func AppendEventPrefix(dst []byte, sub string) []byte {
	dst = append(dst, `["EVENT",`...)
	return append(AppendString(dst, sub), ',')
}

// AppendEvent appends ["EVENT", sub, event].
func AppendEvent(dst []byte, sub string, e *Event) []byte {
	dst = AppendEventPrefix(dst, sub)
	return append(append(dst, e.raw...), ']')
}

// AppendOK appends ["OK", id, ok, message]; id is escaped, since it may be one
// that a client made up.
func AppendOK(dst []byte, id string, ok bool, r Reason) []byte {
	dst = AppendString(append(dst, `["OK",`...), id)
	dst = strconv.AppendBool(append(dst, ','), ok)
	dst = AppendString(append(dst, ','), r.String())
	return append(dst, ']')
}

// Hint says whether an answer holds every stored event that matches (NIP-67).
type Hint uint8

const (
	HintUnknown Hint = iota // nobody looked: the client should page
	HintFinish              // everything was sent
	HintMore                // more is stored than was sent
)

// AppendEOSE appends ["EOSE", sub, [hint]], without the third element when the
// hint is unknown (NIP-67).
func AppendEOSE(dst []byte, sub string, hint Hint) []byte {
	dst = AppendString(append(dst, `["EOSE",`...), sub)
	switch hint {
	case HintFinish:
		return append(dst, `,["finish"]]`...)
	case HintMore:
		return append(dst, `,["more"]]`...)
	default:
		return append(dst, ']')
	}
}

// AppendClosed appends ["CLOSED", sub, reason].
func AppendClosed(dst []byte, sub string, r Reason) []byte {
	dst = AppendString(append(dst, `["CLOSED",`...), sub)
	dst = AppendString(append(dst, ','), r.String())
	return append(dst, ']')
}

// AppendNotice appends ["NOTICE", message].
func AppendNotice(dst []byte, r Reason) []byte {
	return append(AppendString(append(dst, `["NOTICE",`...), r.String()), ']')
}

// AppendAuth appends ["AUTH", challenge] (NIP-42).
func AppendAuth(dst []byte, challenge string) []byte {
	return append(AppendString(append(dst, `["AUTH",`...), challenge), ']')
}

// AppendCount appends ["COUNT", sub, {"count": n}] (NIP-45), with
// "approximate": true when n is only a lower bound.
func AppendCount(dst []byte, sub string, n int, exact bool) []byte {
	dst = AppendString(append(dst, `["COUNT",`...), sub)
	dst = strconv.AppendInt(append(dst, `,{"count":`...), int64(n), 10)
	if !exact {
		dst = append(dst, `,"approximate":true`...)
	}
	return append(dst, '}', ']')
}

// appendEventJSON appends the wire form of ev.
func appendEventJSON(dst []byte, ev *nostr.Event) []byte {
	dst = append(append(append(dst, `{"id":"`...), ev.ID...), `","pubkey":"`...)
	dst = append(append(dst, ev.PubKey...), `","created_at":`...)
	dst = strconv.AppendInt(dst, int64(ev.CreatedAt), 10)
	dst = strconv.AppendInt(append(dst, `,"kind":`...), int64(ev.Kind), 10)
	dst = appendTags(append(dst, `,"tags":`...), ev.Tags)
	dst = AppendString(append(dst, `,"content":`...), ev.Content)
	dst = append(append(append(dst, `,"sig":"`...), ev.Sig...), '"', '}')
	return dst
}

// appendCanonical appends the array whose SHA-256 is the event id (NIP-01).
func appendCanonical(dst []byte, ev *nostr.Event) []byte {
	dst = append(append(append(dst, `[0,"`...), ev.PubKey...), `",`...)
	dst = strconv.AppendInt(dst, int64(ev.CreatedAt), 10)
	dst = strconv.AppendInt(append(dst, ','), int64(ev.Kind), 10)
	dst = appendTags(append(dst, ','), ev.Tags)
	return append(AppendString(append(dst, ','), ev.Content), ']')
}

func appendTags(dst []byte, tags nostr.Tags) []byte {
	dst = append(dst, '[')
	for i, tag := range tags {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendStrings(dst, tag)
	}
	return append(dst, ']')
}

func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, s)
	}
	return append(dst, ']')
}
