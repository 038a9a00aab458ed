package store

import (
	"bytes"
	"errors"
	"time"

	"fencepost/lifecycle/fence"
)

// MaxStreams is how many streams one key may have.
const MaxStreams = 256

var errFence = errors.New("a write admits a frame or changes a fence")

// Fence ties a write to the fence of a stream (package fence), in the write's own
// commit. It is looked at after ErrDuplicate and before everything else that refuses
// Event; a refusal is a *fence.Error, and nothing of the write is written.
//
// Without Change the holder of Token publishes: the lease is renewed when the write is
// committed, and Event, when there is one, takes a number of the stream. With Change the
// fence is changed, and the write holds nothing else.
type Fence struct {
	Stream fence.Stream
	Token  fence.Token
	Change *fence.Change
	Cursor []byte // replaces what the fence has, without Change; nil: that stays
}

// Frame is what a fence says of a committed write; the zero Frame is that of a write
// without one.
type Frame struct {
	Epoch  uint64 // of the fence
	Number uint64 // of Event in its stream, from 1; 0 where there is none
}

// validate returns an error for a fence that w cannot have.
func (f *Fence) validate(w *Write) error {
	if err := f.Stream.Validate(); err != nil {
		return err
	}
	if len(f.Cursor) > fence.MaxCursor || f.Cursor != nil && f.Change != nil {
		return errFence
	}
	rows := w.Event != nil || len(w.Controls) > 0 || len(w.Also) > 0 || len(w.Ban) > 0 || len(w.Unban) > 0 || w.Erase != nil
	if f.Change != nil && (rows || f.Token != fence.Token{}) {
		return errFence
	}
	return nil
}

// Apply returns what a write under f makes of the state s at now; event says whether a
// frame takes a number. streams counts those of the owner, for a fence that is absent.
func (f *Fence) Apply(s fence.State, event bool, now time.Time, streams func() (int, error)) (fence.State, Frame, error) {
	if f.Change != nil {
		if err := f.room(s, streams); err != nil {
			return s, Frame{}, err
		}
		next, err := s.Set(*f.Change, now)
		return next, Frame{Epoch: next.Epoch}, err
	}
	if f.Cursor != nil {
		s.Cursor = bytes.Clone(f.Cursor)
	}
	if !event {
		err := s.Check(f.Token)
		return s.Renewed(now), Frame{Epoch: s.Epoch}, err
	}
	next, number, err := s.Admit(f.Token, now)
	return next, Frame{Epoch: next.Epoch, Number: number}, err
}

// room returns why a fence that is absent cannot be made.
func (f *Fence) room(s fence.State, streams func() (int, error)) error {
	if s.Exists() {
		return nil
	}
	n, err := streams()
	if err == nil && n >= MaxStreams {
		err = &fence.Error{Code: fence.ResourceExhausted, Text: "this key has as many streams as it may"}
	}
	return err
}

// Refused reports whether err is a decision about a fence and no failure.
func Refused(err error) bool {
	var refusal *fence.Error
	return errors.As(err, &refusal)
}
