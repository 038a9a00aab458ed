package conn

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
)

// inflater inflates messages one by one, without context takeover.
type inflater struct {
	src bytes.Reader
	r   io.ReadCloser // a flate.Resetter
}

func newInflater() *inflater {
	i := new(inflater)
	i.r = flate.NewReader(&i.src)
	return i
}

// tail ends a message, RFC 7692 section 7.2.2: first what the sender left out, then
// an empty last block, without which there would be no end.
const tail = "\x00\x00\xff\xff\x01\x00\x00\xff\xff"

// maxParts is how many of a message's blocks may be marked as the last. Senders
// have no use for it, and each one costs.
const maxParts = 16

var errParts = errors.New("too many last blocks in a message")

// inflate returns what packed stands for, which is at most max bytes (0 is no
// bound). It changes packed.
func (s *Server) inflate(packed []byte, max int64) ([]byte, error) {
	i := s.inflates.Get().(*inflater)
	defer s.inflates.Put(i)
	defer i.src.Reset(nil) // the pool must not keep messages alive
	i.src.Reset(append(packed, tail...))
	if err := i.r.(flate.Resetter).Reset(&i.src, nil); err != nil {
		return nil, &EndError{Cause: causeInflate, Err: err}
	}
	var msg bytes.Buffer
	for part := 1; ; part++ {
		var r io.Reader = i.r
		if max > 0 {
			r = io.LimitReader(r, max+1-int64(msg.Len()))
		}
		_, err := msg.ReadFrom(r)
		switch rest := i.src.Len(); {
		case max > 0 && int64(msg.Len()) > max:
			return nil, &EndError{Cause: causeTooBig}
		case err == nil && (rest == 0 || rest == len(tail)): // the message, or with it the tail, ended with a last block
			return msg.Bytes(), nil
		case err == nil && part < maxParts: // RFC 7692 section 7.2.1: a last block need not be the last
			err = i.r.(flate.Resetter).Reset(&i.src, nil)
		case err == nil:
			err = errParts
		}
		if err != nil {
			return nil, &EndError{Cause: causeInflate, Err: err}
		}
	}
}
