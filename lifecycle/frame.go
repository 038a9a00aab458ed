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
	kindTalk                // NEG-MSG, NEG-ERR: belongs to a talk, stale once the client has ended that
	kindClosed              // CLOSED, or ERR of a feed: the last frame of a generation, stale once a newer one begins
)

// Frame is one outbound message. An EVENT frame shares the event's wire form
// with every other reader of it and is put together only when it is written.
type Frame struct {
	kind     kind
	removed  bool           // kindEvent of a feed: the event was removed, and stands here without content
	handle   *Handle        // nil for kindControl
	position store.Position // kindEvent of a feed
	event    *wire.Event    // kindEvent only
	grant    *Grant         // kindEvent: while it holds, the reader may see the event; kindTalk: the same of the answer, and whose it is
	text     []byte         // the encoded message of any other kind
}

// Len returns the length of the encoded message in bytes.
func (f Frame) Len() int {
	switch {
	case f.kind != kindEvent:
		return len(f.text)
	case f.handle.feed != nil:
		return len(f.handle.prefix) + f.change().Len()
	default:
		return len(f.handle.prefix) + len(f.event.Raw()) + 1
	}
}

// AppendTo appends the encoded message.
func (f Frame) AppendTo(dst []byte) []byte {
	switch {
	case f.kind != kindEvent:
		return append(dst, f.text...)
	case f.handle.feed != nil:
		return f.change().AppendTo(append(dst, f.handle.prefix...))
	default:
		dst = append(dst, f.handle.prefix...)
		return append(append(dst, f.event.Raw()...), ']')
	}
}

func (f Frame) change() wire.Change {
	return wire.Change{Position: uint64(f.position), Event: f.event, Removed: f.removed}
}

// Handle returns the generation that the frame belongs to, or nil.
func (f Frame) Handle() *Handle { return f.handle }

// held is a live frame that waits for its subscription to end its replay.
type held struct {
	position store.Position
	event    *wire.Event
	removed  bool
	grant    *Grant
	late     bool // by DeliverLate
}

func (x *held) frame(h *Handle) Frame {
	return Frame{kind: kindEvent, handle: h, position: x.position, event: x.event, removed: x.removed, grant: x.grant}
}
