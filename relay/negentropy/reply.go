package negentropy

import "bytes"

const (
	// MinFrame is the smallest limit of a message that leaves room for progress.
	MinFrame = 4096
	// reserve is what the end of a message that is cut takes at most.
	reserve = 200
	// buckets is into how many ranges one is divided whose fingerprints differ.
	buckets = 16
)

// Reply answers the message of a client, within limit bytes, which is MinFrame at least.
// ErrMessage when it is none. A message of another version of the protocol is answered
// with the version that this is.
func (s *Set) Reply(msg []byte, limit int) ([]byte, error) {
	return (&turn{set: s, limit: limit}).run(msg)
}

// turn is the answer to one message.
type turn struct {
	set    *Set
	limit  int
	client *Client // nil for the server

	in  reader
	out writer
	// index is where the last bound stands that was written, and prev the last that was
	// read; ranges between them need no word.
	index int
	prev  bound
	quiet bool // they are not written yet
}

func (t *turn) run(msg []byte) ([]byte, error) {
	if len(msg) == 0 || msg[0]&0xf0 != version&0xf0 {
		return nil, ErrMessage
	}
	t.out.out = append(t.out.out, version)
	if msg[0] != version {
		if t.client != nil {
			return nil, ErrMessage // it will not go lower
		}
		return t.out.out, nil
	}
	t.in.rest = msg[1:]
	for lower := 0; len(t.in.rest) > 0; {
		upTo := t.in.bound()
		if upTo.before(&t.prev) {
			t.in.fail()
		}
		if t.in.err != nil {
			break
		}
		upper := t.set.find(lower, &upTo)
		more := t.answer(lower, upper, upTo)
		if t.in.err != nil || !more {
			break
		}
		lower, t.prev = upper, upTo
	}
	return t.out.out, t.in.err
}

// answer answers one range, which ends at upTo. It returns false when the frame is full;
// then the rest is summed up.
func (t *turn) answer(lower, upper int, upTo bound) (more bool) {
	switch t.in.varint() {
	case modeSkip:
		t.quiet = true
	case modeFingerprint:
		theirs := t.in.bytes(fingerprintLen)
		ours := t.set.fingerprint(lower, upper)
		if t.in.err != nil || bytes.Equal(theirs, ours[:]) {
			t.quiet = true
			return true
		}
		t.speak(lower)
		return t.fits(upper, func() { t.split(lower, upper, upTo) })
	case modeIDs:
		n := t.in.varint()
		if n > uint64(len(t.in.rest))/32 {
			t.in.fail()
			return false
		}
		theirs := t.in.bytes(32 * n)
		switch {
		case t.client != nil:
			t.client.compare(t.set.items[lower:upper], theirs)
			t.quiet = true
		case t.same(lower, upper, theirs):
			t.quiet = true
		default:
			return t.list(lower, upper, upTo)
		}
	default:
		t.in.fail()
	}
	return true
}

// fits keeps what write writes up to an index if there is room for it.
func (t *turn) fits(index int, write func()) bool {
	n, last := len(t.out.out), t.out.last
	write()
	if len(t.out.out) > t.limit-reserve {
		t.out.out, t.out.last = t.out.out[:n], last
		t.rest()
		return false
	}
	t.index = index
	return true
}

// speak writes the ranges up to an index that need no word as one, for which there is
// always room. What was compared there is not compared again.
func (t *turn) speak(index int) {
	if t.quiet {
		t.out.bound(&t.prev)
		t.out.number(modeSkip)
		t.index, t.quiet = index, false
	}
}

// rest ends the message with the fingerprint of all behind the last bound.
func (t *turn) rest() {
	fingerprint := t.set.fingerprint(t.index, len(t.set.items))
	t.out.bound(&end)
	t.out.number(modeFingerprint)
	t.out.out = append(t.out.out, fingerprint[:]...)
}

// split writes the range in pieces, or its ids when there are few.
func (t *turn) split(lower, upper int, upTo bound) {
	n := upper - lower
	if n < 2*buckets {
		t.ids(lower, upper, upTo)
		return
	}
	for i := range buckets {
		size := n / buckets
		if i < n%buckets {
			size++
		}
		b := upTo
		if i < buckets-1 {
			b = between(&t.set.items[lower+size-1], &t.set.items[lower+size])
		}
		fingerprint := t.set.fingerprint(lower, lower+size)
		t.out.bound(&b)
		t.out.number(modeFingerprint)
		t.out.out = append(t.out.out, fingerprint[:]...)
		lower += size
	}
}

func (t *turn) ids(lower, upper int, upTo bound) {
	t.out.bound(&upTo)
	t.out.number(modeIDs)
	t.out.number(upper - lower)
	for i := lower; i < upper; i++ {
		t.out.out = append(t.out.out, t.set.items[i].ID[:]...)
	}
}

// list answers a list of ids by the own one, as much of it as there is room for.
func (t *turn) list(lower, upper int, upTo bound) bool {
	t.speak(lower)
	room := max(t.limit-reserve-len(t.out.out)-2*maxBound, 0) / 32
	if upper-lower <= room {
		return t.fits(upper, func() { t.ids(lower, upper, upTo) })
	}
	if room > 0 {
		upper = lower + room
		if !t.fits(upper, func() { t.ids(lower, upper, boundOf(&t.set.items[upper])) }) {
			return false
		}
	}
	t.rest()
	return false
}

// maxBound is the longest bound with its mode.
const maxBound = 10 + 1 + 32 + 1

// same reports whether theirs are exactly the ids of the range.
func (t *turn) same(lower, upper int, theirs []byte) bool {
	if len(theirs) != 32*(upper-lower) {
		return false
	}
	for i := lower; i < upper; i++ {
		if !bytes.Equal(t.set.items[i].ID[:], theirs[:32]) {
			return false
		}
		theirs = theirs[32:]
	}
	return true
}
