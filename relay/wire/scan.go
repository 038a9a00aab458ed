package wire

import (
	"bytes"
	"math"
	"strings"
	"unsafe"
)

// decoder walks one JSON text from left to right. A method that reports false
// has met a mistake; the first one is kept in reason and nothing after it counts.
type decoder struct {
	b []byte // the text; never written to once s exists
	s string // the same bytes
	i int    // the next byte

	exact   bool // since it was set: no blank outside strings, nothing spelled unusually
	escaped bool // the string read last had escapes
	eventAt int  // where the event begins, -1 before it was reached
	reason  Reason

	verb, sub string // read so far
	hasSub    bool
}

// newDecoder copies data once; what is decoded shares the copy.
func newDecoder(data []byte) *decoder {
	b := bytes.Clone(data)
	return &decoder{b: b, s: unsafe.String(unsafe.SliceData(b), len(b)), eventAt: -1}
}

func (d *decoder) fail(text string) bool { return d.refuse(Because(Invalid, text)) }

func (d *decoder) refuse(r Reason) bool {
	if d.reason == (Reason{}) {
		d.reason = r
	}
	return false
}

// peek skips blanks and returns the next byte, 0 at the end.
func (d *decoder) peek() byte {
	for ; d.i < len(d.s); d.i++ {
		switch c := d.s[d.i]; c {
		case ' ', '\t', '\n', '\r':
			d.exact = false
		default:
			return c
		}
	}
	return 0
}

func (d *decoder) take(c byte) bool {
	if d.peek() != c || c == 0 {
		return false
	}
	d.i++
	return true
}

// element moves to the next element of a list or object that ends with end, n
// being the number of those already read. more is false behind the last one.
func (d *decoder) element(n int, end byte) (more, ok bool) {
	if d.take(end) {
		return false, true
	}
	if n > 0 && !d.take(',') {
		return false, d.fail("comma or closing bracket expected")
	}
	return true, true
}

// key reads the name of a field and the colon.
func (d *decoder) key() (string, bool) {
	key, ok := d.text("field name")
	if !ok {
		return "", false
	}
	if d.escaped {
		d.exact = false
	}
	if !d.take(':') {
		return "", d.fail("colon expected")
	}
	return key, true
}

// finish makes sure that nothing but blanks follows.
func (d *decoder) finish() bool {
	d.peek()
	if d.i < len(d.s) {
		return d.fail("there is something behind the end")
	}
	return true
}

// integer reads a plain integer from 0 to 2^63-1.
func (d *decoder) integer(what string) (int64, bool) {
	d.peek()
	start, n := d.i, uint64(0)
	for ; d.i < len(d.s) && isDigit(d.s[d.i]); d.i++ {
		digit := uint64(d.s[d.i] - '0')
		if n > (math.MaxInt64-digit)/10 {
			return 0, d.fail(what + " is too large")
		}
		n = n*10 + digit
	}
	digits := d.s[start:d.i]
	if digits == "" && d.at() == '-' && d.i+1 < len(d.s) && d.s[d.i+1] != '0' && isDigit(d.s[d.i+1]) {
		return 0, d.fail(what + " must not be negative")
	}
	if digits == "" || len(digits) > 1 && digits[0] == '0' || strings.IndexByte(".eE", d.at()) >= 0 {
		return 0, d.fail(what + " is not an integer")
	}
	return int64(n), true
}

// at returns the byte at the current place, 0 at the end.
func (d *decoder) at() byte {
	if d.i < len(d.s) {
		return d.s[d.i]
	}
	return 0
}

// kind reads an event kind.
func (d *decoder) kind() (int, bool) {
	n, ok := d.integer("kind")
	if ok && n > math.MaxUint16 {
		return 0, d.fail("kind is not between 0 and 65535")
	}
	return int(n), ok
}

// hex reads a string of n lower-case hex digits.
func (d *decoder) hex(what string, n int) (string, bool) {
	v, ok := d.text(what)
	if ok && !isHex(v, n) {
		return "", d.fail(what + " is not lower-case hex of the right length")
	}
	if d.escaped {
		d.exact = false
	}
	return v, ok
}

// isHex reports whether v is n lower-case hex digits, n being a multiple of 8.
// It looks at eight bytes at a time: the digits of a hash are random, and a
// branch for each would be guessed wrongly half the time (a whole event then
// takes 1,020 ns instead of 800).
func isHex(v string, n int) bool {
	if len(v) != n {
		return false
	}
	bad := uint64(0)
	for ; len(v) >= 8; v = v[8:] {
		w := uint64(v[0]) | uint64(v[1])<<8 | uint64(v[2])<<16 | uint64(v[3])<<24 |
			uint64(v[4])<<32 | uint64(v[5])<<40 | uint64(v[6])<<48 | uint64(v[7])<<56
		// Adding to a byte under 0x80 carries its result into the high bit only.
		low := w &^ highBits
		digit := (low + everyByte*(0x80-'0')) &^ (low + everyByte*(0x7f-'9'))
		letter := (low + everyByte*(0x80-'a')) &^ (low + everyByte*(0x7f-'f'))
		bad |= w | ^(digit | letter)
	}
	return bad&highBits == 0
}

func isDigit(c byte) bool { return c-'0' < 10 }
