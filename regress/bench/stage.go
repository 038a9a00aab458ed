package bench

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fencepost/lifecycle"
)

// peer is a relay that is measured.
type peer struct {
	name    string // "A", "B", "tmpfs"
	target  Target
	url     *url.URL
	process process

	// Owned by the run's goroutine.
	rss, pss int64 // at the start of the run, 0 when unknown
	loaded   bool  // it has the stored events
}

// stage is one round of one row on one relay: its connections and goroutines. The
// first failure ends it. It also fails when nothing comes for the patience.
type stage struct {
	// Set at construction, never changed.
	options *Options
	peer    *peer
	ctx     context.Context // the lifetime of the stage, which cancel ends
	cancel  context.CancelCauseFunc
	group   *lifecycle.Group

	progress atomic.Int64           // counts all that came
	notice   atomic.Pointer[string] // the last NOTICE, nil for none

	mu sync.Mutex // guards the fields below; never held across I/O
	// +checklocks:mu
	links []*link
	// +checklocks:mu
	over bool
}

// errEnded ends a stage whose work is done.
var errEnded = errors.New("the round is over")

func newStage(ctx context.Context, o *Options, p *peer) *stage {
	s := &stage{options: o, peer: p}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.group = lifecycle.NewGroup(s.ctx)
	context.AfterFunc(s.ctx, s.hangUp)
	s.group.Go("bench watch", s.watch)
	return s
}

// spawn runs f in the stage; its error is the stage's failure.
func (s *stage) spawn(name string, f func() error) {
	s.group.Go(name, func(context.Context) {
		if err := f(); err != nil {
			s.cancel(err)
		}
	})
}

// end closes the connections, waits for the goroutines and returns why the stage
// failed, nil when err and all goroutines' are.
func (s *stage) end(err error) error {
	if err == nil {
		err = errEnded
	}
	s.cancel(err)
	waited := s.group.Wait(context.WithoutCancel(s.ctx))
	select {
	case waited = <-s.group.Failed():
	default:
	}
	cause := context.Cause(s.ctx)
	if errors.Is(cause, errEnded) {
		return waited
	}
	if errors.Is(err, cause) {
		cause = err // it says more
	}
	if text := s.notice.Load(); text != nil {
		cause = fmt.Errorf("%w (its last NOTICE: %s)", cause, *text)
	}
	return errors.Join(cause, waited)
}

func (s *stage) hangUp() {
	for _, l := range s.close() {
		_ = l.conn.Close() // whoever reads sees it
	}
}

func (s *stage) close() []*link {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	links := s.links
	s.links = nil
	return links
}

// dial opens a connection that ends with the stage.
func (s *stage) dial() (*link, error) {
	l, err := open(s.ctx, s.peer.url)
	if err != nil {
		return nil, err
	}
	s.progress.Add(1)
	if !s.keep(l) {
		return nil, errors.Join(context.Cause(s.ctx), l.conn.Close())
	}
	return l, nil
}

func (s *stage) keep(l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.links = append(s.links, l)
	}
	return !s.over
}

// drop takes leave of the relay and closes the connection.
func (s *stage) drop(l *link) error {
	err := l.write(appendFrame(nil, opClose, []byte{0x03, 0xE8}, [4]byte{5, 6, 7, 8}))
	s.forget(l)
	return errors.Join(err, l.conn.Close())
}

func (s *stage) forget(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.links, l); i >= 0 {
		s.links = slices.Delete(s.links, i, i+1)
	}
}

// dialMany opens n connections, one after another.
func (s *stage) dialMany(n int) (links []*link, err error) {
	for i := range n {
		l, err := s.dial()
		if err != nil {
			return nil, fmt.Errorf("connection %d of %d: %w", i+1, n, err)
		}
		links = append(links, l)
	}
	return links, nil
}

// looks is how often the patience is looked at while it lasts.
const looks = 10

// watch ends the stage when nothing came for the patience.
func (s *stage) watch(ctx context.Context) {
	every := time.NewTicker(s.options.Patience / looks)
	defer every.Stop()
	seen, idle := int64(-1), 0
	for idle < looks {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		if n := s.progress.Load(); n != seen {
			seen, idle = n, 0
		} else {
			idle++
		}
	}
	s.cancel(fmt.Errorf("%w for %s", errSilent, s.options.Patience))
}

// errSilent ends a stage in which nothing comes any more.
var errSilent = errors.New("the relay sent nothing")

// receive returns the next message that says something about an event or a
// subscription.
func (s *stage) receive(l *link) (message, error) {
	for {
		data, err := l.next()
		if err != nil {
			return message{}, err
		}
		m, ok := parse(data)
		if !ok {
			return m, fmt.Errorf("the relay sent what is no message: %.100q", data)
		}
		switch m.verb {
		case verbNotice:
			text := string(m.name)
			s.notice.Store(&text)
		case verbOther:
		default:
			return m, nil
		}
	}
}

// tick is the unit of CPU times in /proc, the same on every Linux (USER_HZ).
const tick = 10 * time.Millisecond

// meter measures what a stage's work costs.
type meter struct {
	stage    *stage
	began    time.Time
	cpu, own time.Duration
}

// usage is what work took.
type usage struct {
	wall time.Duration
	cpu  time.Duration // of the relay's process, 0 when that is not known
	own  time.Duration // of this process
}

func (s *stage) begin() (m meter, err error) {
	m = meter{stage: s}
	if m.cpu, err = s.peer.process.cpu(); err != nil && !errors.Is(err, errUnknown) {
		return m, err
	}
	m.own, m.began = ownCPU(), time.Now()
	return m, nil
}

func (m meter) end() (u usage, err error) {
	u.wall, u.own = time.Since(m.began), ownCPU()-m.own
	cpu, err := m.stage.peer.process.cpu()
	if errors.Is(err, errUnknown) {
		return u, nil
	}
	u.cpu = max(cpu-m.cpu, tick) // less than a tick is no number to divide by
	return u, err
}
