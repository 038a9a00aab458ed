package bench

import (
	"encoding/binary"
	"errors"
)

// Opcodes (RFC 6455, section 5.2).
const (
	opContinuation = 0x0
	opText         = 0x1
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xA
)

const (
	// maxMessage bounds one message from a relay, in bytes.
	maxMessage = 16 << 20
	maxControl = 125
)

var (
	errFrame    = errors.New("the relay sent a frame that RFC 6455 does not allow")
	errTooLarge = errors.New("the relay sent a message of more than 16 MiB")
)

// header is the head of one frame from a server.
type header struct {
	fin    bool
	opcode byte
	size   int // bytes of the head itself
	length int // bytes of the payload
}

// parseHeader reads the head of a frame. Not ok, without an error, means that more
// bytes are needed.
func parseHeader(b []byte) (h header, ok bool, err error) {
	if len(b) < 2 {
		return h, false, nil
	}
	h = header{fin: b[0]&0x80 != 0, opcode: b[0] & 0x0F, size: 2}
	length := uint64(b[1] & 0x7F)
	if b[0]&0x70 != 0 || b[1]&0x80 != 0 || !known(h.opcode) {
		return h, false, errFrame // an extension nobody asked for, or masked
	}
	if h.opcode >= opClose && (length > maxControl || !h.fin) {
		return h, false, errFrame
	}
	switch {
	case length < 126:
	case length == 126:
		if h.size = 4; len(b) < h.size {
			return h, false, nil
		}
		length = uint64(binary.BigEndian.Uint16(b[2:]))
	default:
		if h.size = 10; len(b) < h.size {
			return h, false, nil
		}
		length = binary.BigEndian.Uint64(b[2:])
	}
	if length > maxMessage {
		return h, false, errTooLarge
	}
	h.length = int(length)
	return h, true, nil
}

func known(opcode byte) bool {
	return opcode == opContinuation || opcode == opText || opcode >= opClose && opcode <= opPong
}

// appendFrame appends one whole message of a client, masked.
func appendFrame(dst []byte, opcode byte, payload []byte, mask [4]byte) []byte {
	dst = append(dst, 0x80|opcode)
	switch n := len(payload); {
	case n < 126:
		dst = append(dst, 0x80|byte(n))
	case n < 1<<16:
		dst = binary.BigEndian.AppendUint16(append(dst, 0x80|126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, 0x80|127), uint64(n))
	}
	dst = append(dst, mask[:]...)
	for i, b := range payload {
		dst = append(dst, b^mask[i&3])
	}
	return dst
}

// script is a row of messages as a client sends them, ready for the socket and
// back to back, so that any stretch of them is one write.
type script struct {
	bytes []byte
	ends  []int // where each message ends in bytes
}

// add appends a text message.
func (s *script) add(payload []byte) {
	// A mask protects proxies against hostile pages. Here it only has to be there.
	n := uint32(len(s.ends))*2654435761 ^ 0x5bd1e995
	s.bytes = appendFrame(s.bytes, opText, payload, [4]byte(binary.BigEndian.AppendUint32(nil, n)))
	s.ends = append(s.ends, len(s.bytes))
}

// slice returns the messages from..to-1.
func (s *script) slice(from, to int) []byte {
	if from >= to {
		return nil
	}
	begin := 0
	if from > 0 {
		begin = s.ends[from-1]
	}
	return s.bytes[begin:s.ends[to-1]]
}
