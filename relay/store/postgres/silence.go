package postgres

import (
	"context"
	"errors"
	"net"
	"os"
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

	// aliveTimeout is how long a pooled connection may take to prove that it is alive.
	aliveTimeout = 2 * time.Second
)

// errSilent ends a connection whose database says nothing.
var errSilent = errors.New("the database has stopped to answer")

// impatient makes the connections of cfg end when the database says nothing for that
// long while it is waited for. What it sends in time may take as long as it takes.
func impatient(cfg *pgxpool.Config, most time.Duration) {
	dial := cfg.ConnConfig.DialFunc
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &answering{Conn: conn, most: most}, nil
	}
}

// answering is a connection that fails when nothing comes for a while. From then on, as
// when a context ended a Read, it fails at once: who closes it would wait for what may
// still come, and its place in the pool is taken until then.
type answering struct {
	net.Conn
	most time.Duration // set at construction, never changed

	mu sync.Mutex // guards the field below
	// +checklocks:mu
	until time.Time // the deadline that was set; zero is none
	// +checklocks:mu
	over bool // a Read has run out of time
}

// Read implements net.Conn.
func (c *answering) Read(p []byte) (int, error) {
	if err := c.arm(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) && c.end() {
		err = errSilent
	}
	return n, err
}

// arm sets the deadline of one Read.
func (c *answering) arm() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return errSilent
	}
	until := time.Now().Add(c.most)
	if !c.until.IsZero() && c.until.Before(until) {
		until = c.until
	}
	return c.Conn.SetReadDeadline(until)
}

// end notes that a Read has run out of time, and reports whether it was for want of an
// answer: no deadline that was set is over, as it is when a context ended.
func (c *answering) end() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	return c.until.IsZero() || time.Now().Before(c.until)
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
