package postgres

import (
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// followedSilence and shortSilence are how long the database may say nothing to who
	// follows the log and to a short statement. TCP does not notice a backend that hangs,
	// or something in between that acknowledges and passes nothing on. The log is looked at
	// once a second, so who follows it goes on 4 s after it fell silent: before it shows
	// nothing private any more (access.max_lag, 5 s).
	followedSilence = 3 * time.Second
	shortSilence    = 10 * time.Second

	// doubtedShort and doubtedQuery are how long it may say nothing, once some connection
	// fell silent, on those that were made before: of what is short, and of queries, which
	// have as long as who asks otherwise.
	doubtedShort = 5 * time.Second
	doubtedQuery = 10 * time.Second

	// aliveTimeout is how long a pooled connection may take to prove that it is alive, and
	// one for queries to end after who asked went away.
	aliveTimeout = 2 * time.Second
)

// errSilent ends a connection whose database says nothing, errDoubted one of those that
// have less time because of another one: it may have been busy, and says nothing of others.
var (
	errSilent  = errors.New("the database has stopped to answer")
	errDoubted = errors.New("the database has not answered for long, and had stopped to on other connections")
)

// impatient makes the connections of cfg end when the database says nothing for that
// long while it is waited for; 0 is no bound. What it sends in time may take as long as it
// takes. linger is how much longer they may be read from after a context ended a Read.
func impatient(cfg *pgxpool.Config, most, linger time.Duration) *waiting {
	w := &waiting{conns: make(map[*answering]bool)}
	dial := cfg.ConnConfig.DialFunc
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return w.add(&answering{Conn: conn, pool: w, linger: linger, most: most}), nil
	}
	return w
}

// waiting is the connections of a pool.
type waiting struct {
	mu sync.Mutex // guards the field below; never held across another lock
	// +checklocks:mu
	conns map[*answering]bool // those that are open
}

func (w *waiting) add(c *answering) *answering {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[c] = true
	return c
}

func (w *waiting) remove(c *answering) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, c)
}

func (w *waiting) all() []*answering {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.conns))
}

// hurry leaves the connections that there are no longer than that, which counts from when a
// Read that waits began.
func (w *waiting) hurry(most time.Duration) {
	for _, c := range w.all() {
		c.hurry(most)
	}
}

// answering is a connection that fails when nothing comes for a while. After that, or when
// a context ended a Read, it fails at once, or soon: who closes it would wait for what may
// still come, and its place in the pool is taken until then.
type answering struct {
	net.Conn

	// Set at construction, never changed.
	pool   *waiting
	linger time.Duration

	mu sync.Mutex // guards the fields below
	// +checklocks:mu
	most time.Duration // 0 is no bound
	// +checklocks:mu
	doubted bool // most comes from hurry
	// +checklocks:mu
	began time.Time // of the last Read
	// +checklocks:mu
	until time.Time // the deadline that was set; zero is none
	// +checklocks:mu
	last time.Time // the end of all Reads, once one has run out of time; zero before
}

// Read implements net.Conn.
func (c *answering) Read(p []byte) (int, error) {
	if err := c.arm(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = c.end(err)
	}
	return n, err
}

// arm sets the deadline of one Read.
func (c *answering) arm() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began = time.Now()
	return c.Conn.SetReadDeadline(c.deadlineLocked())
}

// deadlineLocked is when the Read that began last runs out of time; zero is never.
func (c *answering) deadlineLocked() (first time.Time) {
	var silent time.Time
	if c.most > 0 {
		silent = c.began.Add(c.most)
	}
	for _, t := range []time.Time{c.until, silent, c.last} {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// end notes that a Read has run out of time, and returns why. It was for want of an answer
// where no deadline that was set is over, as it is when a context ended.
func (c *answering) end(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	silent := c.until.IsZero() || now.Before(c.until)
	switch {
	case !c.last.IsZero(): // it stays
	case silent:
		c.last = now
	default:
		c.last = now.Add(c.linger)
	}
	switch {
	case silent && c.doubted:
		return errDoubted
	case silent:
		return errSilent
	}
	return err
}

// hurry makes most the bound, also of a Read that waits, unless there is a lower one.
func (c *answering) hurry(most time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.most > 0 && c.most <= most {
		return
	}
	c.most, c.doubted = most, true
	_ = c.Conn.SetReadDeadline(c.deadlineLocked()) // fails when it is closed
}

// SetDeadline implements net.Conn.
func (c *answering) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = t
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *answering) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = t
	return c.Conn.SetReadDeadline(t)
}

// Close implements net.Conn.
func (c *answering) Close() error {
	c.pool.remove(c)
	return c.Conn.Close()
}
