package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"fencepost/relay/store"
)

// sweepRows is how many rows one commit of a sweep or an erasure takes.
const sweepRows = 500

// lockedCommits is for how many commits a process takes the lock first after it met
// others; less than that it would be refused half of the time.
const lockedCommits = 32

// attemptTimeout bounds one transaction, not the way to a connection for it: one that lost
// its peer is given up.
const attemptTimeout = 5 * time.Second

// write is the writer goroutine: it answers requests until the queue is closed and
// empty.
func (s *Store) write(life context.Context) {
	for {
		requests, ok := s.queue.Take()
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(life, s.opt.CommitTimeout)
		err := s.commit(ctx, requests)
		cancel()
		answered(requests)
		if err != nil {
			rest := s.queue.Rest() // it has waited for the same database
			fail(rest, err)
			answered(rest)
		}
	}
}

func answered(requests []*request) {
	for _, r := range requests {
		r.Answered()
	}
}

func fail(requests []*request, err error) {
	for _, r := range requests {
		r.Fail(fmt.Errorf("commit: %w", err))
	}
}

// commit answers the requests, but for telling their callers. When a statement fails
// because of what is written, the culprit is found by halves and fails alone (O20). An
// error says that the database is away.
func (s *Store) commit(ctx context.Context, requests []*request) error {
	err := s.persist(ctx, requests)
	if err == nil {
		return nil
	}
	if a, b := halves(requests); b != nil && isolates(err) {
		return errors.Join(s.commit(ctx, a), s.commit(ctx, b))
	}
	s.opt.Logger.Error("commit", "err", err)
	fail(requests, err)
	if !isolates(err) {
		s.refusing.Store(true)
	}
	if code(err) == diskFull {
		s.writer.full, s.writer.fullAt = true, -1
	}
	if passes(err) || errors.Is(err, errUnknown) {
		return err
	}
	return nil
}

// halves divides the writes of requests; b is nil when there is one at most.
func halves(requests []*request) (a, b []*request) {
	total := 0
	for _, r := range requests {
		total += len(r.Writes)
	}
	if total < 2 {
		return requests, nil
	}
	left := total / 2
	for _, r := range requests {
		n := min(left, len(r.Writes))
		left -= n
		if n > 0 {
			a = append(a, &request{Writes: r.Writes[:n], Outcomes: r.Outcomes[:n]})
		}
		if n < len(r.Writes) {
			b = append(b, &request{Writes: r.Writes[n:], Outcomes: r.Outcomes[n:]})
		}
	}
	return a, b
}

// persist decides and commits, again and again while another replica, a lock or the
// connection is in the way. On an error nothing is committed, except that errUnknown
// leaves that open.
func (s *Store) persist(ctx context.Context, requests []*request) error {
	n := needOf(requests)
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		t, err := s.attempt(ctx, requests, n)
		if err == nil {
			s.publish(t)
			return nil
		}
		if code(err) == commitMoved {
			s.writer.others = lockedCommits
			continue
		}
		if !passes(err) {
			return err
		}
		s.opt.Logger.Warn("commit is tried again", "err", err)
		select {
		case <-time.After(wait/2 + rand.N(wait)):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// attempt makes one transaction, or none when nothing is to be written. Alone it reads
// without a lock, relies on log_commit to see whether anything changed meanwhile, and
// holds the lock for one round trip. While other processes commit too it reads under
// the lock, or they would make most of its attempts vain.
func (s *Store) attempt(ctx context.Context, requests []*request, n *need) (*txn, error) {
	lock := s.writer.others > 0
	conn, err := s.writer.connection(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	t, err := s.decide(ctx, conn, requests, n, lock)
	if err == nil && t.empty() {
		if lock {
			_, err = conn.Exec(ctx, "ROLLBACK")
		}
		if err == nil {
			s.probe(ctx, conn)
		}
		return t, err
	}
	if err != nil {
		s.writer.drop(ctx)
		return nil, err
	}
	if err := t.send(ctx, conn, s.writer.me, lock); err != nil {
		if err = s.writer.settle(ctx, t, err); err != nil {
			return nil, err
		}
	}
	s.writer.committed(t)
	if !s.writer.full {
		s.refusing.Store(false)
	}
	return t, nil
}

// Refusing reports whether the last commit failed, and not because of what it was about.
// It does not lock.
func (s *Store) Refusing() bool { return s.refusing.Load() }

// probe commits something where the last commit failed and this one had nothing to write, such
// as a sweep: that a database can be read does not say that it can be written. A disk that was
// full it cannot try, see hasRoom.
func (s *Store) probe(ctx context.Context, conn *pgx.Conn) {
	if !s.refusing.Load() {
		return
	}
	if _, err := conn.Exec(ctx, sqlMove); err != nil {
		s.writer.drop(ctx) // its session may have begun in a read-only time
		return
	}
	if s.writer.hasRoom(ctx, conn) {
		s.refusing.Store(false)
	}
}

// decide reads what the requests need and answers them, for the case that it becomes
// durable.
func (s *Store) decide(ctx context.Context, conn *pgx.Conn, requests []*request, n *need, lock bool) (*txn, error) {
	state, err := load(ctx, conn, n, lock)
	if err != nil {
		return nil, err
	}
	if n.copying { // after the version, as everything else
		if state.copying, err = loadCopying(ctx, conn); err != nil {
			return nil, err
		}
	}
	for _, err := range state.damaged {
		s.leaveOut(err)
	}
	t := newTxn(state, s.opt.Now())
	for _, r := range requests {
		switch {
		case r.IsSweep():
			r.Removed = t.sweep(state.due)
		case r.Erasure != nil:
			r.Removed = t.erase(r.Erasure, r.Found)
		}
		for i := range r.Writes {
			r.Outcomes[i] = t.write(&r.Writes[i])
		}
	}
	return t, nil
}

// publish tells the followers of this and of the other processes.
func (s *Store) publish(t *txn) {
	if len(t.rows) > 0 || len(t.voids) > 0 {
		wake(s.changed)
		wake(s.notify)
	}
}

var _ store.Store = (*Store)(nil)
