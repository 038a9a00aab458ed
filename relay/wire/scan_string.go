package wire

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string. One without escapes is a part of the message, not a copy.
func (d *decoder) text(what string) (string, bool) {
	if d.peek() != '"' {
		return "", d.fail(what + " is not a string")
	}
	start := d.i + 1
	i, wide := start, false
	d.escaped = false
	for {
		var w bool
		i, w = plain(d.b, i)
		wide = wide || w
		if i >= len(d.b) {
			return "", d.fail(what + " has no end")
		}
		switch d.b[i] {
		case '"':
			d.i = i + 1
			return d.value(what, d.s[start:i], wide)
		case '\\':
			d.escaped = true
			i += 2 // what follows is checked by unescape
		default:
			return "", d.fail(what + " holds a raw control character")
		}
	}
}

// value returns what stands between the quotes of a string, decoded.
func (d *decoder) value(what, s string, wide bool) (string, bool) {
	if wide && !utf8.ValidString(s) {
		return "", d.fail(what + " is not valid UTF-8")
	}
	if !d.escaped {
		return s, true
	}
	v, ok := unescape(s)
	if !ok {
		return "", d.fail(what + " holds an escape that JSON does not know or half a surrogate pair")
	}
	return v, true
}

const (
	everyByte = 0x0101010101010101
	highBits  = 0x8080808080808080
)

// plain returns where from i on the first quote, backslash or control stands,
// len(b) when there is none, and whether a byte over 0x7f was passed. It looks
// at eight bytes at a time. A borrow can only mark bytes above one that is
// marked rightly, so the lowest mark is always right.
func plain(b []byte, i int) (at int, wide bool) {
	var seen uint64
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^(everyByte*'"'), w^(everyByte*'\\')
		marks := ((quote-everyByte)&^quote | (slash-everyByte)&^slash | (w-everyByte*0x20)&^w) & highBits
		if marks != 0 {
			n := bits.TrailingZeros64(marks) / 8
			seen |= w & (1<<(8*n) - 1)
			return i + n, seen&highBits != 0
		}
		seen |= w
	}
	for ; i < len(b) && b[i] >= 0x20 && b[i] != '"' && b[i] != '\\'; i++ {
		seen |= uint64(b[i])
	}
	return i, seen&highBits != 0
}

// unescape resolves the escapes of s, in which no backslash is the last byte.
func unescape(s string) (string, bool) {
	var out strings.Builder
	out.Grow(len(s))
	for {
		n := strings.IndexByte(s, '\\')
		if n < 0 {
			out.WriteString(s)
			return out.String(), true
		}
		out.WriteString(s[:n])
		c := s[n+1]
		s = s[n+2:]
		if c != 'u' {
			n = strings.IndexByte(`"\/bfnrt`, c)
			if n < 0 {
				return "", false
			}
			out.WriteByte("\"\\/\b\f\n\r\t"[n])
			continue
		}
		r, size := unicodeEscape(s)
		if size == 0 {
			return "", false
		}
		out.WriteRune(r)
		s = s[size:]
	}
}

// unicodeEscape decodes what follows a \u, the second half of a surrogate pair
// included; size is 0 when it cannot.
func unicodeEscape(s string) (r rune, size int) {
	r = hex4(s)
	if r < 0 {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 4
	}
	if len(s) < 10 || s[4] != '\\' || s[5] != 'u' {
		return 0, 0
	}
	if r = utf16.DecodeRune(r, hex4(s[6:])); r == utf8.RuneError {
		return 0, 0
	}
	return r, 10
}

// hex4 reads four hex digits of either case, -1 when they are not there.
func hex4(s string) rune {
	if len(s) < 4 {
		return -1
	}
	var r rune
	for i := range 4 {
		c := s[i]
		switch {
		case isDigit(c):
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
