package trace

import (
	"slices"

	"fencepost/relay/wire"
)

// allowed asks whether the reader may get e now. What was never committed is
// judged elsewhere; of what was committed several times one has to be allowed.
func (t *Trace) allowed(e *wire.Event) bool {
	if t.options.Judge == nil {
		return true
	}
	commits := t.commits(e.ID)
	return len(commits) == 0 || slices.ContainsFunc(commits, func(c *commit) bool {
		return t.options.Judge.May(c.position, e)
	})
}

// excused returns the commits that may be missing because the reader was not
// allowed to see them all the time.
func (t *Trace) excused() map[*commit]bool {
	if t.options.Judge == nil {
		return nil
	}
	excused := make(map[*commit]bool)
	for _, c := range t.commits("") {
		if !t.options.Judge.Owed(c.position, c.event) {
			excused[c] = true
		}
	}
	return excused
}

// commits returns those of an id, or all. What is asked of them outside the lock
// never changes.
func (t *Trace) commits(id string) []*commit {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id != "" {
		return slices.Clone(t.ledger.of(id))
	}
	return slices.Clone(t.ledger.commits)
}
