package embedded

import "fencepost/relay/store"

// What the tail keeps at most.
const (
	tailRows  = 4096
	tailBytes = 16 << 20
)

// tail is the end of the log in memory, so that the follower gets its own
// commits without reading them back. Store.mu guards it.
type tail struct {
	rows  []store.Entry // consecutive, up to the head
	bytes int
}

// add appends the rows of a commit and applies its voids.
func (t *tail) add(rows, voids []store.Entry) {
	for _, v := range voids {
		if i, ok := t.find(v.Position); ok {
			t.bytes += rowWeight(v) - rowWeight(t.rows[i])
			t.rows[i] = v
		}
	}
	t.rows = append(t.rows, rows...)
	for _, r := range rows {
		t.bytes += rowWeight(r)
	}
	for len(t.rows) > tailRows || t.bytes > tailBytes && len(t.rows) > 0 {
		t.bytes -= rowWeight(t.rows[0])
		t.rows[0] = store.Entry{} // the array outlives the slice
		t.rows = t.rows[1:]
	}
}

// after copies up to limit rows that follow a position; not ok when the tail
// does not reach back so far.
func (t *tail) after(position store.Position, limit int) (rows []store.Entry, ok bool) {
	i, ok := t.find(position + 1)
	if !ok {
		return nil, false
	}
	return append(rows, t.rows[i:min(i+limit, len(t.rows))]...), true
}

func (t *tail) find(position store.Position) (i int, ok bool) {
	if len(t.rows) == 0 || position < t.rows[0].Position {
		return 0, false
	}
	i = int(position - t.rows[0].Position)
	return i, i < len(t.rows)
}

func rowWeight(e store.Entry) int {
	switch {
	case e.Event != nil:
		return 64 + len(e.Event.Raw())
	case e.Removal != nil:
		return 64 + len(e.Removal.Event.Raw())
	case e.Control != nil:
		return 64 + controlWeight(e.Control)
	default:
		return 64
	}
}
