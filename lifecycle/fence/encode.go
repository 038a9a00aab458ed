package fence

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"
)

// The encoding of a state, for stores that keep bytes: version(1) active(1) token(32)
// lease(8) until(8) epoch(8) next(8), the length(2) and the bytes of the cursor, then 8
// for each token that was used. Integers are big-endian, times nanoseconds.
const (
	encoding = 1
	fixed    = 1 + 1 + 32 + 4*8 + 2
)

// ErrEncoding is for what is no encoded state.
var ErrEncoding = errors.New("fence is damaged")

// Append appends the encoding of s, which exists.
func (s *State) Append(dst []byte) []byte {
	active := byte(0)
	if s.Active {
		active = 1
	}
	dst = append(append(dst, encoding, active), s.Token[:]...)
	for _, n := range []uint64{uint64(s.Lease), uint64(s.Until.UnixNano()), s.Epoch, s.Next} {
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	dst = append(binary.BigEndian.AppendUint16(dst, uint16(len(s.Cursor))), s.Cursor...)
	return append(dst, s.Marks()...)
}

// Decode reads what Append wrote.
func Decode(b []byte) (s State, err error) {
	if len(b) < fixed || b[0] != encoding || b[1] > 1 {
		return State{}, ErrEncoding
	}
	number := func(i int) uint64 { return binary.BigEndian.Uint64(b[34+8*i:]) }
	s = State{
		Active: b[1] == 1, Token: Token(b[2:34]), Lease: time.Duration(number(0)),
		Until: time.Unix(0, int64(number(1))), Epoch: number(2), Next: number(3),
	}
	rest := b[fixed:]
	n := int(binary.BigEndian.Uint16(b[fixed-2:]))
	if n > MaxCursor || n > len(rest) {
		return State{}, ErrEncoding
	}
	if n > 0 {
		s.Cursor = bytes.Clone(rest[:n])
	}
	if s.Used, err = DecodeMarks(rest[n:]); err != nil || s.Epoch == 0 || s.Next == 0 || s.Lease < 0 {
		return State{}, ErrEncoding
	}
	return s, nil
}

// Marks returns what Used holds, one behind the other.
func (s *State) Marks() []byte {
	out := make([]byte, 0, 8*len(s.Used))
	for _, m := range s.Used {
		out = append(out, m[:]...)
	}
	return out
}

// DecodeMarks reads what Marks returned.
func DecodeMarks(b []byte) (used []Mark, err error) {
	if len(b)%8 != 0 || len(b) > 8*Remembered {
		return nil, ErrEncoding
	}
	for ; len(b) > 0; b = b[8:] {
		used = append(used, Mark(b[:8]))
	}
	return used, nil
}
