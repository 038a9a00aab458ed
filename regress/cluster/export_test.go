package cluster

// EmptyLog returns a log to tell stories with.
func EmptyLog() *Log { return &Log{at: make(map[string]int64), rows: make(map[string]int)} }

// Add appends a row of the event with that id.
func (l *Log) Add(id string) {
	l.Head++
	l.at[id[:16]] = l.Head
	l.rows[id[:16]]++
}

// Drop takes an event out of the log.
func (l *Log) Drop(id string) {
	delete(l.at, id[:16])
	delete(l.rows, id[:16])
}

// Note says what became of an event.
func (l *Ledger) Note(s Sent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byID[s.Event.ID] = &s
}
