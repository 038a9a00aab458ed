package lifecycle

import "slices"

// queue is the one FIFO of a connection, with the accounting of reserved room.
// It has no lock: the lifecycle lock guards it.
//
// Frames of a retired generation stay in place as dead weight, no longer
// counted, until the writer passes them or compact removes them.
type queue struct {
	maxFrames, maxBytes int

	items []Frame
	head  int // items[:head] are taken
	burst int // frames of the last burst that was too large to keep its array

	takes uint64 // how often frames were taken

	frames, bytes                 int // live frames in items
	reservedFrames, reservedBytes int // promised and not pushed yet
}

// fits reports whether n more frames of b bytes find room beside everything
// queued and reserved.
func (q *queue) fits(n, b int) bool {
	return q.frames+q.reservedFrames+n <= q.maxFrames && q.bytes+q.reservedBytes+b <= q.maxBytes
}

// fitsHistory is fits for stored events, which may fill half of the queue: the
// other half stays free for live frames, so that a subscription which asks for
// much does not make another one look slow (G8).
func (q *queue) fitsHistory(b int) bool {
	empty := q.frames == 0
	return empty && q.fits(1, b) ||
		q.fits(1, b) && q.frames < q.maxFrames/2 && q.bytes+b <= q.maxBytes/2
}

func (q *queue) reserve(n, b int) {
	q.reservedFrames += n
	q.reservedBytes += b
}

func (q *queue) unreserve(n, b int) {
	q.reservedFrames -= n
	q.reservedBytes -= b
}

func (q *queue) push(f Frame) {
	if len(q.items) == cap(q.items) {
		q.grow()
	}
	q.items = append(q.items, f)
	q.count(f)
}

func (q *queue) count(f Frame) {
	n := f.Len()
	q.frames++
	q.bytes += n
	if f.handle != nil {
		f.handle.queued++
		f.handle.queuedBytes += n
	}
}

// take moves wanted frames to dst until maxBytes are reached. A frame whose grant
// does not hold is passed over with everything of its generation behind it, and
// keeps its place; undecided says that there was one (G4).
func (q *queue) take(dst []Frame, maxBytes int) (frames []Frame, undecided bool) {
	q.takes++
	i, first := q.head, -1 // first frame passed over
	for size := 0; i < len(q.items) && size < maxBytes; i++ {
		f := q.items[i]
		if f.wanted() && q.passes(f) {
			if first < 0 {
				first = i
			}
			continue
		}
		q.items[i] = Frame{}
		switch {
		case f.wanted():
			q.discount(f)
			size += f.Len()
			dst = append(dst, f)
		case f.kind == kindTalk: // it was counted up to now
			q.discount(f)
		}
	}
	if q.head = i; first >= 0 {
		q.head = first
	}
	if q.head == len(q.items) {
		q.reset()
	}
	return dst, first >= 0
}

// passes reports whether this take passes over f.
func (q *queue) passes(f Frame) bool {
	h := f.handle
	if h == nil || f.kind == kindClosed {
		return f.undecided()
	}
	if f.kind == kindEvent && !f.grant.Holds() { // race: revocation against what is queued
		h.passed = q.takes
	}
	return h.passed == q.takes
}

// wanted is the check at write time of G1, G2 and G3: what was queued for a
// generation that has been retired since is dropped here.
func (f Frame) wanted() bool {
	switch f.kind {
	case kindGone:
		return false
	case kindControl:
		return true
	case kindTalk:
		return f.grant.talk.wanted(f.grant)
	case kindClosed:
		return f.handle.closing
	default:
		return f.handle.state != retired
	}
}

func (q *queue) discount(f Frame) {
	n := f.Len()
	q.frames--
	q.bytes -= n
	if f.handle != nil {
		f.handle.queued--
		f.handle.queuedBytes -= n
	}
}

// forget stops counting what is queued for h, which is being retired.
func (q *queue) forget(h *Handle) {
	q.frames -= h.queued
	q.bytes -= h.queuedBytes
	h.queued, h.queuedBytes = 0, 0
}

// compact removes dead frames once they outnumber the live ones, which keeps
// its cost constant per push and the memory of a queue within twice its bound.
func (q *queue) compact() {
	const slack = 64
	if len(q.items)-q.head-q.frames < q.frames+slack {
		return
	}
	kept := q.items[:0]
	for _, f := range q.items[q.head:] {
		switch {
		case f.wanted():
			kept = append(kept, f)
		case f.kind == kindTalk:
			q.discount(f)
		}
	}
	clear(q.items[len(kept):])
	q.items, q.head = kept, 0
}

// grow makes room for another frame. When more than half is taken the rest moves to
// the front, so a push costs constant time. Beyond the first few frames there is room
// at once for as many as the last burst had: to double step by step allocated twice as
// much and copied it (BenchmarkBurst).
func (q *queue) grow() {
	const few, most = 4, 1024
	switch n := len(q.items); {
	case q.head > n/2:
		q.shift()
	case n >= few && n < q.burst:
		q.items = slices.Grow(q.items, max(min(q.burst, most)-n, 0))
	}
}

// shift moves the untaken frames to the front.
func (q *queue) shift() {
	n := copy(q.items, q.items[q.head:])
	clear(q.items[n:])
	q.items, q.head = q.items[:n], 0
}

// reset forgets the backing array of an empty queue if it has grown.
func (q *queue) reset() {
	const keep = 32
	q.head = 0
	if cap(q.items) > keep {
		q.items, q.burst = nil, len(q.items)
		return
	}
	q.items = q.items[:0]
}
