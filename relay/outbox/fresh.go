package outbox

import (
	"context"
	"time"
)

// watchEvery is how often Watch looks.
const watchEvery = time.Second

// SetMaxLag replaces Options.MaxLag.
func (f *Follower) SetMaxLag(d time.Duration) { f.maxLag.Store(int64(d)) }

// Fresh reports whether what is in force here can be trusted: the follower stands at
// no control row that it cannot apply (O16), and has seen the end of the log within
// MaxLag (O18). It does not lock.
func (f *Follower) Fresh() bool {
	if f.stuck.Load() {
		return false
	}
	maxLag := time.Duration(f.maxLag.Load())
	return maxLag == 0 || f.now().Sub(f.Confirmed()) <= maxLag
}

// Stuck reports whether the follower stands at a control row that it cannot apply. It
// does not lock.
func (f *Follower) Stuck() bool { return f.stuck.Load() }

// Watch ends what rests on permissions as long as these are not Fresh, until ctx ends:
// a read that hangs keeps Run from doing so.
func (f *Follower) Watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if f.readers != nil && !f.Fresh() {
				f.readers.Distrust()
			}
		case <-ctx.Done():
			return
		}
	}
}
