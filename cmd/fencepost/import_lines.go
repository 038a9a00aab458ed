package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// line is one line of input, without the blanks around it.
type line struct {
	number int // from 1
	data   []byte
	err    error // why it is refused unread
}

var errTooLong = errors.New("line is longer")

// lineReader cuts input into lines. Its memory is bounded by the longest line
// allowed, whatever the input holds.
type lineReader struct {
	in     *bufio.Reader
	max    int // bytes of the longest line
	number int
}

func newLineReader(in io.Reader, maxLine int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 64<<10), max: maxLine}
}

// next returns the next line that is not blank. io.EOF comes alone, at the end.
func (r *lineReader) next() (line, error) {
	for {
		r.number++
		data, tooLong, err := r.read()
		if err != nil && !errors.Is(err, io.EOF) {
			return line{}, fmt.Errorf("read line %d: %w", r.number, err)
		}
		switch data = bytes.TrimSpace(data); {
		case tooLong:
			return line{number: r.number, err: fmt.Errorf("%w than %d bytes", errTooLong, r.max)}, nil
		case len(data) > 0:
			return line{number: r.number, data: data}, nil
		case err != nil:
			return line{}, io.EOF
		}
	}
}

// read returns the bytes up to the next line feed. One that is too long is
// skipped to its end.
func (r *lineReader) read() (data []byte, tooLong bool, err error) {
	for {
		part, err := r.in.ReadSlice('\n')
		if len(data)+len(bytes.TrimRight(part, "\r\n")) > r.max {
			data, tooLong = nil, true
		}
		if !tooLong {
			data = append(data, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return data, tooLong, err
		}
	}
}
