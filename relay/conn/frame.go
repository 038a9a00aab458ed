package conn

import (
	"bytes"
	"compress/flate"
	"encoding/binary"

	"fencepost/lifecycle"
)

// Bits of a frame's first byte, RFC 6455 section 5.2 and RFC 7692 section 6.
const (
	finBit  = 0x80
	rsv1Bit = 0x40 // compressed

	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2

	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xA
)

// deflateFrom is the length from which a message is worth compressing.
const deflateFrom = 512

// appendHeader appends the header of an unmasked frame of n bytes payload.
func appendHeader(dst []byte, first byte, n int) []byte {
	switch {
	case n < 126:
		return append(dst, first, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, first, 126), uint16(n))
	default:
		return binary.BigEndian.AppendUint64(append(dst, first, 127), uint64(n))
	}
}

// appendFrame appends f as one text frame, compressed if d is not nil and it is
// worth it. Without d it allocates nothing but what dst needs to grow.
func appendFrame(dst []byte, f lifecycle.Frame, d *deflater) ([]byte, error) {
	n := f.Len()
	if d == nil || n < deflateFrom {
		return f.AppendTo(appendHeader(dst, finBit|opText, n)), nil
	}
	d.plain = f.AppendTo(d.plain[:0])
	packed, err := d.deflate()
	if err != nil {
		return dst, err
	}
	return append(appendHeader(dst, finBit|rsv1Bit|opText, len(packed)), packed...), nil
}

// deflater compresses messages one by one, without context takeover.
type deflater struct {
	plain []byte
	out   bytes.Buffer
	w     *flate.Writer
}

func newDeflater() *deflater {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // only for a level that does not exist
	}
	return &deflater{w: w}
}

// deflate compresses d.plain. The result is valid until the next call.
func (d *deflater) deflate() ([]byte, error) {
	d.out.Reset()
	d.w.Reset(&d.out)
	if _, err := d.w.Write(d.plain); err != nil {
		return nil, err
	}
	if err := d.w.Flush(); err != nil {
		return nil, err
	}
	// A flush ends with an empty block whose last four bytes are left out, RFC
	// 7692 section 7.2.1.
	return bytes.TrimSuffix(d.out.Bytes(), []byte{0, 0, 0xff, 0xff}), nil
}
