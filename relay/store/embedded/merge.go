package embedded

import (
	"bytes"
	"context"
	"slices"
)

// How many entries one stream buffers at most: at first what all streams of a
// merge together do when it is known how many are wanted, later each of them. All
// streams of one query share maxBuffered, which is 2 MiB, but for minChunk each, and
// for the samples by which a plan was chosen.
const (
	maxFirst    = 512
	maxChunk    = 256
	minChunk    = 4
	maxBuffered = 32 << 10
)

// merge is the union of streams in the order of answers, each event once. After
// an error it is of no further use.
type merge struct {
	reader *reader
	heap   []*stream // by head, a binary heap; each has a head
	fresh  []*stream // not looked at yet
	last   entry
	any    bool // last is set
}

// newMerge merges the streams of a plan, which is used up; want is how many entries
// are likely to be read, 0 for unknown.
func newMerge(r *reader, p plan, w window, want int) *merge {
	slices.SortFunc(p.prefixes, bytes.Compare) // the iterator then moves forward only
	slices.SortFunc(p.begun, func(a, b *stream) int { return bytes.Compare(a.prefix, b.prefix) })
	prefixes := slices.CompactFunc(p.prefixes, bytes.Equal)
	chunk := maxChunk
	if want > 0 {
		chunk = want
	}
	chunk = max(chunk/max(len(prefixes), 1), 1) + 1
	m := &merge{reader: r}
	r.streams += len(prefixes)
	for _, prefix := range prefixes {
		m.fresh = append(m.fresh, p.stream(prefix, w, chunk))
	}
	return m
}

// stream returns the begun stream of prefix, or a new one. Prefixes must come in
// order.
func (p *plan) stream(prefix []byte, w window, chunk int) *stream {
	for len(p.begun) > 0 {
		s := p.begun[0]
		order := bytes.Compare(s.prefix, prefix)
		if order > 0 {
			break
		}
		p.begun = p.begun[1:]
		if order == 0 {
			return s
		}
	}
	return newStream(prefix, w, chunk)
}

// front returns the next entry; nil at the end.
func (m *merge) front(ctx context.Context) (*entry, error) {
	if err := m.begin(ctx); err != nil || len(m.heap) == 0 {
		return nil, err
	}
	return m.headOf(0), nil
}

// take removes the front. It is not fresh when another stream held it too: the
// entries of an event are neighbours here.
func (m *merge) take(ctx context.Context) (e entry, fresh bool, err error) {
	if err := m.reader.worked(ctx); err != nil {
		return e, false, err
	}
	top := m.heap[0]
	e = top.buf[top.next]
	top.next++
	fresh = !m.any || !m.last.same(&e)
	m.last, m.any = e, true
	return e, fresh, m.settle(ctx, top)
}

// begin reads the first chunk of every stream, once.
func (m *merge) begin(ctx context.Context) error {
	if m.fresh == nil {
		return nil
	}
	for _, s := range m.fresh {
		head, err := s.head(ctx, m.reader)
		if err != nil {
			return err
		}
		if head != nil {
			m.heap = append(m.heap, s)
		}
	}
	m.fresh = nil
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return nil
}

// settle restores the heap after its top moved on.
func (m *merge) settle(ctx context.Context, top *stream) error {
	head, err := top.head(ctx, m.reader)
	if err != nil {
		return err
	}
	if head == nil {
		last := len(m.heap) - 1
		m.heap[0], m.heap[last] = m.heap[last], nil
		m.heap = m.heap[:last]
	}
	m.down(0)
	return nil
}

func (m *merge) down(i int) {
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.headOf(child).before(m.headOf(first)) {
				first = child
			}
		}
		if first == i {
			return
		}
		m.heap[i], m.heap[first] = m.heap[first], m.heap[i]
		i = first
	}
}

func (m *merge) headOf(i int) *entry {
	s := m.heap[i]
	return &s.buf[s.next]
}
