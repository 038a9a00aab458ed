package lifecycle

import (
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// kind says whose frame it is, and so what makes it stale.
type kind uint8

const (
	kindGone    kind = iota // nothing: the frame was taken or dropped, its place remains
	kindControl             // OK, NOTICE, AUTH, COUNT: belongs to the connection
	kindEvent               // belongs to a generation, stale once that is retired
	kindEOSE                // the same
	kindClosed              // the last frame of a generation, stale once a newer one begins
)

// Frame is one outbound message. An EVENT frame shares the event's wire form
// with every other reader of it and is put together only when it is written.
type Frame struct {
	kind   kind
	handle *Handle     // nil for kindControl
	event  *wire.Event // kindEvent only
	grant  *Grant      // kindEvent only: while it holds, the reader may see the event
	text   []byte      // the encoded message of any other kind
}

// Len returns the length of the encoded message in bytes.
func (f Frame) Len() int {
	if f.kind == kindEvent {
		return len(f.handle.prefix) + len(f.event.Raw()) + 1
	}
	return len(f.text)
}

// AppendTo appends the encoded message.
func (f Frame) AppendTo(dst []byte) []byte {
	if f.kind == kindEvent {
		dst = append(dst, f.handle.prefix...)
		return append(append(dst, f.event.Raw()...), ']')
	}
	return append(dst, f.text...)
}

// Handle returns the generation that the frame belongs to, or nil.
func (f Frame) Handle() *Handle { return f.handle }

// held is a live frame that waits for its subscription to end its replay.
type held struct {
	position store.Position
	event    *wire.Event
	grant    *Grant
}
