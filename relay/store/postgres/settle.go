package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// writer is the connection on which everything is written.
type writer struct {
	// Set at construction, never changed.
	cfg *pgx.ConnConfig
	me  []byte // random, names this process in the table of writers

	conn   *pgx.Conn // nil after a failure
	others int       // how many commits are still made under the lock, since others commit too
	last   int64     // the version that the last commit of this process made

	full   bool  // a commit found no room on the disk, and none has been made since
	fullAt int64 // the head then, as a sweep has found it; -1: none has looked
}

// committed notes that t is.
func (w *writer) committed(t *txn) {
	switch {
	case t.version == w.last:
		w.others = max(w.others-1, 0)
	case w.others > 0:
		w.others = lockedCommits
	}
	w.last = t.version + 1
	w.full = w.full && len(t.rows) == 0
}

// Codes of PostgreSQL, and the one that log_commit raises.
const (
	undefinedTable = "42P01"
	commitMoved    = "FP001"
	diskFull       = "53100"
)

var (
	errLost    = errors.New("a commit did not arrive")
	errUnknown = errors.New("no answer to a commit, and the database cannot be asked")
	errLocal   = errors.New("a statement cannot be sent")
)

// connection returns the writer's connection and makes it where there is none. A server
// that was started again, or another one, may lose commits.
func (w *writer) connection(ctx context.Context) (*pgx.Conn, error) {
	if w.conn != nil && !w.conn.IsClosed() {
		return w.conn, nil
	}
	w.conn = nil
	conn, err := connect(ctx, w.cfg)
	if err != nil {
		return nil, err
	}
	w.conn = conn
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if _, err := checkSettings(ctx, conn); err != nil {
		w.drop(ctx)
		return nil, err
	}
	return conn, nil
}

// drop ends the connection, and with it a transaction that it may have.
func (w *writer) drop(ctx context.Context) {
	_ = w.end(ctx) // it is of no further use
}

func (w *writer) end(ctx context.Context) error {
	if w.conn == nil {
		return nil
	}
	conn := w.conn
	w.conn = nil
	if conn.IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return conn.Close(ctx)
}

// settle finds out what became of t, whose commit failed with err: nil when it is
// committed after all. errUnknown when that cannot be found out in time.
func (w *writer) settle(ctx context.Context, t *txn, err error) error {
	var pgErr *pgconn.PgError
	switch {
	case errors.As(err, &pgErr) && pgErr.SeverityUnlocalized == "ERROR": // rolled back
		if w.conn.PgConn().TxStatus() != 'I' || pgErr.Code == readOnly { // a session stays as it began
			w.drop(ctx)
		}
		return err
	case pgErr == nil && !w.conn.IsClosed():
		w.drop(ctx)
		return fmt.Errorf("%w: %w", errLocal, err)
	}
	ctx = context.WithoutCancel(ctx)
	ctx, cancel := context.WithTimeout(ctx, 2*attemptTimeout)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		w.drop(ctx)
		committed, askErr := w.arrived(ctx, t)
		switch {
		case askErr == nil && committed:
			return nil
		case askErr == nil:
			return fmt.Errorf("%w: %w", errLost, err)
		}
		select {
		case <-time.After(wait/2 + rand.N(wait)):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w: %w", errUnknown, err, askErr)
		}
	}
}

// sqlMove takes the row of the head, and commits nothing else.
const sqlMove = `UPDATE log_head SET version = version + 1`

// hasRoom reports whether the disk takes rows, as far as others have made some since it did not:
// the row of the head alone takes no room.
func (w *writer) hasRoom(ctx context.Context, conn *pgx.Conn) bool {
	if !w.full {
		return true
	}
	var head int64
	if err := conn.QueryRow(ctx, `SELECT head FROM log_head`).Scan(&head); err != nil {
		w.drop(ctx)
		return false
	}
	if w.fullAt < 0 {
		w.fullAt = head
	}
	w.full = head == w.fullAt
	return !w.full
}

// arrived asks whether t is committed. It takes the lock of the head and moves the version: a
// backend that still works on t has ended by then, or its commit is refused.
func (w *writer) arrived(ctx context.Context, t *txn) (bool, error) {
	conn, err := w.connection(ctx)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, sqlMove); err != nil {
		return false, err
	}
	var version int64
	err = conn.QueryRow(ctx, `SELECT version FROM writers WHERE writer = $1`, w.me).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return version == t.version+1, err
}

// code returns PostgreSQL's code of err, or "".
func code(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// passes reports whether the same may succeed later: the connection, a lock or a
// restart was in the way.
func passes(err error) bool {
	if errors.Is(err, errUnknown) || isolates(err) {
		return false
	}
	c := code(err)
	return c == "" || slices.Contains([]string{"08", "40", "55", "57"}, c[:2]) || c == "25P03" || c == "53300"
}

// isolates reports whether what is written made the commit fail, not the database: what it
// names, data, constraints, limits of the program, and what a trigger raises.
func isolates(err error) bool {
	c := code(err)
	return errors.Is(err, errLocal) || errors.Is(err, errCorrupt) || errors.Is(err, errNamed) || c != "" && slices.Contains([]string{"0A", "21", "22", "23", "54", "P0"}, c[:2])
}
