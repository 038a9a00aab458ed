package conn

import (
	"bytes"
	"compress/flate"
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
	var r io.Reader = i.r
	if max > 0 {
		r = io.LimitReader(r, max+1)
	}
	msg, err := io.ReadAll(r)
	switch {
	case err != nil:
		return nil, &EndError{Cause: causeInflate, Err: err}
	case max > 0 && int64(len(msg)) > max:
		return nil, &EndError{Cause: causeTooBig}
	}
	return msg, nil
}
