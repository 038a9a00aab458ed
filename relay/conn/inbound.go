package conn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"
)

// maxControl is the longest payload of a control frame, RFC 6455 section 5.5.
const maxControl = 125

// header stands before the payload of a frame, RFC 6455 section 5.2.
type header struct {
	fin, rsv1 bool
	opcode    byte
	length    int64
	key       uint32 // mask of the next four bytes, little endian
}

func (h header) isControl() bool { return h.opcode&0x8 != 0 }

// inbound reads the messages of one client. The caller has it for itself.
type inbound struct {
	inbox

	// Set at construction, never changed.
	server  *Server
	max     int64                         // bytes of a message; 0 is no bound
	deflate bool                          // permessage-deflate was agreed on
	control func(op byte, payload []byte) // gets pings and pongs; must not keep the payload

	left   int64 // of the current frame's payload, not read yet
	closed bool  // the client's close frame has come
}

// message blocks until a whole message has come; the caller keeps it. Its errors
// are those of Socket.Read.
func (in *inbound) message() (msg []byte, err error) {
	var first header
	for {
		h, err := in.next()
		if err != nil {
			return nil, err
		}
		switch started := first.opcode != 0; {
		case started == (h.opcode != opContinuation):
			return nil, violation("a message begins inside another, or goes on without a beginning")
		case h.opcode == opBinary:
			return nil, &EndError{Cause: causeBinary}
		case !started:
			first = h
		}
		if most := in.most(first); most > 0 && h.length > most-int64(len(msg)) {
			return nil, &EndError{Cause: causeTooBig}
		}
		if msg, err = in.payload(msg, h); err != nil {
			return nil, err
		}
		if h.fin {
			break
		}
	}
	if first.rsv1 {
		return in.server.inflate(msg, in.max)
	}
	return msg, nil
}

// most returns how long the payload of a message may be. What is compressed may be
// longer than what it stands for, but not by much.
func (in *inbound) most(first header) int64 {
	const overhead = 1 << 10
	if first.rsv1 && in.max > 0 {
		return in.max + in.max/8 + overhead
	}
	return in.max
}

// next returns the header of the next frame that is none of control: those are
// answered on the way.
func (in *inbound) next() (header, error) {
	for {
		h, err := in.header()
		if err != nil || !h.isControl() {
			return h, err
		}
		if err := in.controlled(h); err != nil {
			return h, err
		}
	}
}

func (in *inbound) header() (h header, err error) {
	p, err := in.need(2)
	if err != nil {
		return h, err
	}
	b0, b1 := p[0], p[1]
	h = header{fin: b0&finBit != 0, rsv1: b0&rsv1Bit != 0, opcode: b0 & 0x0f, length: int64(b1 & 0x7f)}
	if err := in.check(h, b0, b1); err != nil {
		return h, err
	}
	switch h.length {
	case 126:
		if p, err = in.need(2); err == nil {
			h.length = int64(binary.BigEndian.Uint16(p))
		}
	case 127:
		if p, err = in.need(8); err == nil {
			h.length = int64(binary.BigEndian.Uint64(p))
		}
	}
	if err != nil {
		return h, err
	}
	switch short := int64(b1 & 0x7f); {
	case h.length < 0:
		return h, violation("a length has more than 63 bits")
	case short == 126 && h.length < 126, short == 127 && h.length <= math.MaxUint16:
		return h, violation("a length is not written in its shortest form")
	}
	if p, err = in.need(4); err != nil {
		return h, err
	}
	h.key = binary.LittleEndian.Uint32(p)
	in.left = h.length
	return h, nil
}

func (in *inbound) check(h header, b0, b1 byte) error {
	const rsv2And3, masked = 0x30, 0x80
	switch {
	case b0&rsv2And3 != 0, h.rsv1 && (!in.deflate || h.opcode != opText && h.opcode != opBinary):
		return violation("a reserved bit is set")
	case b1&masked == 0:
		return violation("a frame is not masked")
	case h.opcode > opBinary && h.opcode < opClose, h.opcode > opPong:
		return violation(fmt.Sprintf("opcode %d is not known", h.opcode))
	case h.isControl() && (!h.fin || h.length > maxControl):
		return violation("a control frame is fragmented or too long")
	}
	return nil
}

// payload appends the payload of h to msg. Memory grows with what has come, not
// with what was announced.
func (in *inbound) payload(msg []byte, h header) ([]byte, error) {
	const atOnce = 4 << 10
	if msg == nil {
		msg = make([]byte, 0, min(h.length, atOnce))
	}
	for in.left > 0 {
		p, err := in.some(in.left)
		if err != nil {
			return nil, err
		}
		in.left -= int64(len(p))
		h.key = unmask(p, h.key)
		msg = append(msg, p...)
	}
	return msg, nil
}

// unmask unmasks p in place and returns the key for what follows, RFC 6455 section
// 5.3. Eight bytes at a time: BenchmarkUnmask.
func unmask(p []byte, key uint32) (rotated uint32) {
	wide := uint64(key)<<32 | uint64(key)
	for ; len(p) >= 8; p = p[8:] {
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)^wide)
	}
	for i := range p {
		p[i] ^= byte(key)
		key = bits.RotateLeft32(key, -8)
	}
	return key
}

// controlled acts on the control frame whose header is h.
func (in *inbound) controlled(h header) error {
	p, err := in.need(int(h.length))
	if err != nil {
		return err
	}
	in.left = 0
	unmask(p, h.key)
	if h.opcode == opClose {
		in.closed = true
		return closeOf(p)
	}
	in.control(h.opcode, p)
	return nil
}

// closeOf returns the end of a connection whose client sent a close frame: it is
// answered with its own code (RFC 6455 section 5.5.1).
func closeOf(p []byte) error {
	if len(p) == 0 {
		return &EndError{Cause: causeClient}
	}
	if len(p) < 2 {
		return violation("a close frame has half a code")
	}
	cause := causeClient
	cause.Code = int(binary.BigEndian.Uint16(p))
	switch {
	case !mayBeSent(cause.Code):
		return violation(fmt.Sprintf("close code %d is not to be sent", cause.Code))
	case !utf8.Valid(p[2:]):
		return &EndError{Cause: causeReason}
	}
	return &EndError{Cause: cause, Err: fmt.Errorf("the client closes: %d %q", cause.Code, p[2:])}
}

// mayBeSent reports whether a close frame may carry code, RFC 6455 section 7.4.
func mayBeSent(code int) bool {
	switch code {
	case 1004, codeNoStatus, codeLost:
		return false
	}
	return code >= codeNormal && code <= 1014 || code >= 3000 && code <= 4999
}

// drain reads until the client's close frame has come. It drops what else comes.
func (in *inbound) drain() error {
	for !in.closed {
		for in.left > 0 {
			p, err := in.some(in.left)
			if err != nil {
				return err
			}
			in.left -= int64(len(p))
		}
		if _, err := in.next(); err != nil && !in.closed {
			return err
		}
	}
	return nil
}

// violation is the end of a client that breaks the protocol.
func violation(what string) error {
	return &EndError{Cause: causeProtocol, Err: errors.New(what)}
}
