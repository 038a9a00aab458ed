package negentropy

import "errors"

// version is the first byte of every message of protocol version 1.
const version = 0x61

// ErrMessage is returned for what is no message of the protocol.
var ErrMessage = errors.New("not a negentropy message")

// The modes of a range.
const (
	modeSkip        = 0 // nothing more to be said
	modeFingerprint = 1
	modeIDs         = 2
)

// reader reads a message; after the first error it stays where it is.
type reader struct {
	rest []byte
	last uint64 // time of the last bound
	err  error
}

func (r *reader) fail() {
	r.rest, r.err = nil, ErrMessage
}

func (r *reader) bytes(n uint64) []byte {
	if uint64(len(r.rest)) < n {
		r.fail()
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) varint() (n uint64) {
	for i := 0; ; i++ {
		if i == len(r.rest) || n > infinity>>7 {
			r.fail()
			return 0
		}
		b := r.rest[i]
		n = n<<7 | uint64(b&0x7f)
		if b < 0x80 {
			r.rest = r.rest[i+1:]
			return n
		}
	}
}

// bound reads the upper bound of a range: the difference of its time to the last one
// and one more, or 0 for infinity; then the beginning of an id.
func (r *reader) bound() (b bound) {
	switch delta := r.varint(); {
	case delta == 0:
		b.at = infinity
	case delta-1 > infinity-1-min(r.last, infinity-1):
		r.fail()
	default:
		b.at = r.last + delta - 1
	}
	r.last = b.at
	n := r.varint()
	if n > 32 {
		r.fail()
		return b
	}
	b.n = copy(b.prefix[:], r.bytes(n))
	return b
}

// writer writes a message.
type writer struct {
	out  []byte
	last uint64
}

func (w *writer) bound(b *bound) {
	if b.at == infinity {
		w.out = append(w.out, 0)
	} else {
		w.out = appendVarint(w.out, b.at-w.last+1)
	}
	w.last = b.at
	w.out = appendVarint(w.out, uint64(b.n))
	w.out = append(w.out, b.prefix[:b.n]...)
}

func (w *writer) number(n int) { w.out = appendVarint(w.out, uint64(n)) }

// appendVarint appends n in base 128, most significant digit first; all but the last
// have their highest bit set.
func appendVarint(dst []byte, n uint64) []byte {
	var digits [10]byte
	i := len(digits) - 1
	for digits[i] = byte(n & 0x7f); n > 0x7f; {
		n >>= 7
		i--
		digits[i] = byte(n&0x7f) | 0x80
	}
	return append(dst, digits[i:]...)
}
