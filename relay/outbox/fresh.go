package outbox

import (
	"context"
	"time"
)

// Fresh reports whether what is in force here can be trusted: the follower stands at
// no control row that it cannot apply (O16), and has seen the end of the log within
// MaxLag (O18). It does not lock.
func (f *Follower) Fresh() bool {
	return !f.stuck.Load() && (f.maxLag == 0 || f.now().Sub(f.Confirmed()) <= f.maxLag)
}

// Watch ends what rests on permissions whenever these are not Fresh, until ctx ends:
// a read that hangs keeps Run from doing so. Without MaxLag it returns at once.
func (f *Follower) Watch(ctx context.Context) {
	if f.maxLag == 0 || f.readers == nil {
		return
	}
	tick := time.NewTicker(f.maxLag / 4)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if !f.Fresh() {
				f.readers.Distrust()
			}
		case <-ctx.Done():
			return
		}
	}
}
