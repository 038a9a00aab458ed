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
	// or something in between that acknowledges and passes nothing on.
	followedSilence = 4 * time.Second
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

// answering is a connection that fails when nothing comes for a while.
type answering struct {
	net.Conn
	most time.Duration // set at construction, never changed

	mu sync.Mutex // guards the field below
	// +checklocks:mu
	until time.Time // the deadline that was set; zero is none
}

// Read implements net.Conn.
func (c *answering) Read(p []byte) (int, error) {
	if err := c.arm(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) && !c.isOver() {
		err = errSilent
	}
	return n, err
}

// arm sets the deadline of one Read.
func (c *answering) arm() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	until := time.Now().Add(c.most)
	if !c.until.IsZero() && c.until.Before(until) {
		until = c.until
	}
	return c.Conn.SetReadDeadline(until)
}

// isOver reports whether the deadline that was set is over, as it is when a context ended.
func (c *answering) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.until.IsZero() && !time.Now().Before(c.until)
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
