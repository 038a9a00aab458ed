package group

import "sync"

// marks is the set of groups whose list of members is out of date, and whether the
// other state that the relay has told may be so as well.
type marks struct {
	// Set at construction, never changed.
	wake chan struct{} // one waiting wake-up at most; never closed

	mu sync.Mutex // guards the field below
	// +checklocks:mu
	ids map[string]bool
}

func newMarks() *marks {
	return &marks{wake: make(chan struct{}, 1), ids: map[string]bool{}}
}

// set marks a group, and wakes whoever waits.
func (m *marks) set(id string, state bool) {
	m.add(id, state)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *marks) add(id string, state bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids[id] = m.ids[id] || state
}

// clear takes the mark off a group.
func (m *marks) clear(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.ids, id)
}

// take returns the marked groups and takes all marks off. A change that comes
// afterwards marks its group again.
func (m *marks) take() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := m.ids
	m.ids = map[string]bool{}
	return ids
}
