package outbox

// Gates returns at how many positions somebody waits.
func (f *Follower) Gates() int {
	f.applied.mu.Lock()
	defer f.applied.mu.Unlock()
	return len(f.applied.gates)
}
