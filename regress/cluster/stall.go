package cluster

import (
	"context"
	"time"
)

// Stall measures how long this process itself did not run.
type Stall struct {
	Longest time.Duration // read it once Run has returned
}

// Run watches until ctx ends.
func (s *Stall) Run(ctx context.Context) error {
	const beat = 10 * time.Millisecond
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for last := time.Now(); ; {
		select {
		case <-ticker.C:
			now := time.Now()
			s.Longest = max(s.Longest, now.Sub(last)-beat)
			last = now
		case <-ctx.Done():
			return nil
		}
	}
}
