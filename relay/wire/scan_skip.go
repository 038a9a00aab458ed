package wire

import "strings"

// maxDepth is how deep lists and objects in a surplus field may nest.
const maxDepth = 32

// skip reads any JSON value and forgets it; depth is how many lists and objects
// it may open inside each other.
func (d *decoder) skip(depth int) bool {
	switch c := d.peek(); c {
	case '"':
		_, ok := d.text("string")
		return ok
	case '[', '{':
		if depth == 0 {
			return d.fail("too deeply nested")
		}
		d.i++
		return d.skipElements(c+2, depth-1) // '[' and ']', '{' and '}' are two apart
	case 't':
		return d.skipWord("true")
	case 'f':
		return d.skipWord("false")
	case 'n':
		return d.skipWord("null")
	default:
		return d.skipNumber()
	}
}

func (d *decoder) skipElements(end byte, depth int) bool {
	for n := 0; ; n++ {
		more, ok := d.element(n, end)
		if !more {
			return ok
		}
		if end == '}' {
			if _, ok := d.key(); !ok {
				return false
			}
		}
		if !d.skip(depth) {
			return false
		}
	}
}

func (d *decoder) skipWord(word string) bool {
	if !strings.HasPrefix(d.s[d.i:], word) {
		return d.fail("value expected")
	}
	d.i += len(word)
	return true
}

func (d *decoder) skipNumber() bool {
	if d.at() == '-' {
		d.i++
	}
	start := d.i
	if n := d.skipDigits(); n == 0 || n > 1 && d.s[start] == '0' {
		return d.fail("value expected")
	}
	if d.at() == '.' {
		d.i++
		if d.skipDigits() == 0 {
			return d.fail("number without a fraction")
		}
	}
	if d.at()|0x20 == 'e' {
		d.i++
		if c := d.at(); c == '+' || c == '-' {
			d.i++
		}
		if d.skipDigits() == 0 {
			return d.fail("number without an exponent")
		}
	}
	return true
}

// skipDigits returns how many digits it passed.
func (d *decoder) skipDigits() int {
	start := d.i
	for isDigit(d.at()) {
		d.i++
	}
	return d.i - start
}

// findID looks leniently through an event that could not be decoded for its id,
// so that the refusal can name it. It returns "" when there is none of at most
// 64 bytes.
func (d *decoder) findID() string {
	depth := 0
	for i := d.eventAt; i < len(d.s); i++ {
		switch d.s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := stringEnd(d.s, i+1)
			if end < 0 {
				return ""
			}
			at := decoder{b: d.b, s: d.s, i: end + 1}
			if depth == 1 && d.s[i+1:end] == "id" && at.take(':') {
				if id, ok := at.text("id"); ok && len(id) <= 64 {
					return id
				}
				return ""
			}
			i = end
		}
		if depth <= 0 {
			return ""
		}
	}
	return ""
}

// stringEnd returns where the quote stands that ends a string, -1 without one.
func stringEnd(s string, i int) int {
	for ; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return -1
}
