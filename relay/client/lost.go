package client

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"

	"github.com/coder/websocket"
)

// lost is why a connection ended that the relay closed. Its text is for people: with the
// code and the reason of a close frame (RFC 6455, section 7.4), when there was one. err
// has all of it.
type lost struct{ err error }

// lostWhile returns the error of what was being done when the connection failed.
func lostWhile(doing string, err error) error {
	if websocket.CloseStatus(err) >= 0 || gone(err) {
		return &lost{err}
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func (l *lost) Error() string {
	text := goneText
	var frame websocket.CloseError
	if errors.As(l.err, &frame) && frame.Code != websocket.StatusNoStatusRcvd {
		text += fmt.Sprintf(": %d", int(frame.Code))
		if frame.Reason != "" {
			text += " " + frame.Reason
		}
	}
	return text
}

func (l *lost) Unwrap() error { return l.err }

const goneText = "the relay closed the connection"

// gone reports whether the other side has ended the connection without a word.
func gone(err error) bool {
	return slices.ContainsFunc([]error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE},
		func(e error) bool { return errors.Is(err, e) })
}
