package bench

import (
	"fmt"
	"sync/atomic"
	"time"
)

// flow follows events from their publishers to their readers. An event is done
// with when its OK and all its deliveries have come; only so many events of one
// publisher may not be done with, which is its window. All methods may be called
// from any goroutine.
type flow struct {
	// Set at construction, never changed.
	began   time.Time
	events  *signed
	number  map[[idSize / 4]byte]int32 // first digits of an id -> which event it is
	windows []chan struct{}            // of each publisher, a token for each free place; never closed
	share   int                        // events of each publisher
	done    chan struct{}              // closed when all events are done with

	sent []atomic.Int64 // event -> when it was sent, since began
	due  []atomic.Int32 // event -> what has to come: its OK and deliveries
	left atomic.Int64   // events that are not done with

	oks, frames atomic.Int64
}

// newFlow prepares the publication of events by so many publishers, of which each
// has a share in one piece. deliveries tells how often event i is delivered.
func newFlow(events *signed, publishers, window int, deliveries func(i int) int) *flow {
	n := events.count()
	f := &flow{
		events: events, number: make(map[[idSize / 4]byte]int32, n), done: make(chan struct{}),
		share: (n + publishers - 1) / publishers,
		sent:  make([]atomic.Int64, n), due: make([]atomic.Int32, n),
	}
	f.left.Store(int64(n))
	for i := range n {
		f.number[prefix(events.id(i))] = int32(i)
		f.due[i].Store(int32(1 + deliveries(i)))
	}
	for range publishers {
		tokens := make(chan struct{}, window)
		for range window {
			tokens <- struct{}{}
		}
		f.windows = append(f.windows, tokens)
	}
	f.began = time.Now()
	return f
}

func prefix(id []byte) [idSize / 4]byte { return [idSize / 4]byte(id) }

func (f *flow) now() int64 { return int64(time.Since(f.began)) }

// range of a publisher's share.
func (f *flow) shareOf(publisher int) (from, to int) {
	n := f.events.count()
	return min(publisher*f.share, n), min((publisher+1)*f.share, n)
}

// find returns which event an id belongs to.
func (f *flow) find(id []byte) (int, bool) {
	i, ok := f.number[prefix(id)]
	return int(i), ok && string(f.events.id(int(i))) == string(id)
}

// arrived notes that one of the things due of event i came.
func (f *flow) arrived(i int) {
	if f.due[i].Add(-1) > 0 {
		return
	}
	f.windows[i/f.share] <- struct{}{} // its place was taken, so there is room
	if f.left.Add(-1) == 0 {
		close(f.done)
	}
}

// since returns how long ago event i was sent.
func (f *flow) since(i int) time.Duration { return time.Duration(f.now() - f.sent[i].Load()) }

// shortfall describes what did not come.
func (f *flow) shortfall(deliveries int) error {
	return fmt.Errorf("%d of %d events got their OK and %d of %d frames came",
		f.oks.Load(), f.events.count(), f.frames.Load(), deliveries)
}
