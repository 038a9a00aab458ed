package mirror

import "sync"

const (
	// maxBreaks is how many connections an event may break by itself.
	maxBreaks = 2
	// maxSuspects bounds how many events are remembered; then all are forgotten.
	maxSuspects = 1 << 10
)

// suspects are events that were on their way up when a connection broke. Each is offered
// alone from then on, on a connection that has just answered something else, so that a
// connection which breaks says whose fault that was.
type suspects struct {
	alone sync.RWMutex // held by one suspect, shared by the others

	mu sync.Mutex // guards the field below; nothing else happens under it
	// +checklocks:mu
	breaks map[string]int // id -> connections that broke while it was the only one
}

// enter waits until an event may be offered, and returns what is held against it and
// what to call when that is done.
func (s *suspects) enter(id string) (breaks int, suspect bool, leave func()) {
	s.mu.Lock()
	breaks, suspect = s.breaks[id]
	s.mu.Unlock()
	if suspect {
		s.alone.Lock()
		return breaks, true, s.alone.Unlock
	}
	s.alone.RLock()
	return 0, false, s.alone.RUnlock
}

// broke notes that the connection broke while the event was on its way.
func (s *suspects) broke(id string, alone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.breaks == nil || len(s.breaks) >= maxSuspects {
		s.breaks = make(map[string]int)
	}
	n := s.breaks[id]
	if alone {
		n++
	}
	s.breaks[id] = n
}

// clear forgets an event that was answered.
func (s *suspects) clear(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.breaks, id)
}
