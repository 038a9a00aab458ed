package nip98

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrFull is returned by a Memory that holds as many tokens as it may.
var ErrFull = errors.New("too many tokens within their window")

// Memory is the Ledger of one process.
type Memory struct {
	// Set at construction, never changed.
	now func() time.Time
	max int

	mu sync.Mutex // guards the fields below; never held across I/O, a callback or another lock
	// +checklocks:mu
	ids map[string]struct{}
	// +checklocks:mu
	ends map[int64][]string // Unix second -> the ids that are forgotten then
	// +checklocks:mu
	swept int64 // the last second for which ends was looked through
}

// NewMemory returns a ledger of at most max tokens, about 200 bytes each. When it
// is full it fails rather than forget one that could be used again.
func NewMemory(max int, now func() time.Time) *Memory {
	return &Memory{now: now, max: max, ids: make(map[string]struct{}), ends: make(map[int64][]string)}
}

// Seen implements Ledger. It does not block.
func (m *Memory) Seen(_ context.Context, id string, until time.Time) (bool, error) {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweepLocked(now.Unix())
	if _, ok := m.ids[id]; ok || !now.Before(until) {
		return false, nil // a late caller may be one whom somebody preceded and who is forgotten by now
	}
	if len(m.ids) >= m.max {
		return false, ErrFull
	}
	m.ids[id] = struct{}{}
	end := until.Unix()
	if until.Nanosecond() > 0 {
		end++
	}
	m.ends[end] = append(m.ends[end], id)
	return true, nil
}

// sweepLocked forgets what ended at now or before. There are as many ends as a
// window has seconds, so it looks at all of them, once a second.
func (m *Memory) sweepLocked(now int64) {
	if now <= m.swept {
		return
	}
	m.swept = now
	for end, ids := range m.ends {
		if end > now {
			continue
		}
		for _, id := range ids {
			delete(m.ids, id)
		}
		delete(m.ends, end)
	}
}
