package handlers

import (
	"context"
	"errors"
	"time"

	"fencepost/lifecycle/pause"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

const (
	// maxRounds is how often something is decided anew whose permissions move
	// meanwhile.
	maxRounds = 3
	// patience is how long this relay may take to follow its own log before a query
	// is given up, and something is said about it.
	patience = 10 * time.Second
)

// errMoving is the answer when that was not enough.
var errMoving = wire.Because(wire.Failed, "permissions changed too often, try again")

// commit is the lane's serial stage. Events that say nothing about permissions
// are decided about and committed together; one that does is the last of its
// commit, and in force before the next event is looked at (G9).
func (s *Session) commit(ctx context.Context, batch []*submission) {
	s.pause.At(pause.EventVerified)
	for len(batch) > 0 {
		batch = s.commitSome(ctx, batch)
	}
}

// commitSome commits a beginning of batch. It returns what is left, and before
// that what has to be decided about anew.
func (s *Session) commitSome(ctx context.Context, batch []*submission) (left []*submission) {
	n, writes := s.plan(ctx, batch)
	outcomes := s.append(ctx, writes)
	var until store.Position // to be applied before anything else is planned
	var moved []*submission
	var last *submission // to be answered then
	for i, sub := range batch[:n] {
		if sub.err == nil {
			var out store.Outcome
			out, outcomes = outcomes[0], outcomes[1:]
			sub.err = out.Err
			switch {
			case errors.Is(out.Err, store.ErrMoved) && sub.rounds < maxRounds: // race: revocation against its commit (G4)
				sub.err, until, moved = nil, max(until, out.Position), append(moved, sub)
				continue
			case out.Err == nil && i == n-1 && changes(&writes[len(writes)-1]):
				until, last = max(until, out.Last), sub
				continue
			}
		}
		s.answerEvent(sub)
	}
	s.inForce(ctx, until)
	if last != nil {
		s.answerEvent(last)
	}
	if len(moved) > 0 {
		return append(moved, batch[n:]...)
	}
	return batch[n:]
}

// plan decides about events up to and including the first whose write changes
// what later ones may do, and up to one that looks for those before it in the
// store. writes are of those without an error.
func (s *Session) plan(ctx context.Context, batch []*submission) (n int, writes []store.Write) {
	writes = make([]store.Write, 0, len(batch))
	for i, sub := range batch {
		if sub.err != nil {
			continue
		}
		if len(writes) > 0 && s.writing.LooksBack(sub.event) {
			return i, writes
		}
		sub.rounds++
		var w store.Write
		w, sub.err = s.writing.Plan(ctx, sub.keys, sub.event)
		if yes := Accepted(nil); errors.As(sub.err, &yes) && (w.Event != nil || len(w.Controls) > 0) {
			sub.said, sub.err = yes.Accepted(), nil
		}
		if sub.err != nil {
			continue
		}
		writes = append(writes, w)
		if changes(&w) {
			return i + 1, writes
		}
	}
	return len(batch), writes
}

// changes reports whether w changes what others may do.
func changes(w *store.Write) bool {
	return len(w.Controls) > 0 || len(w.Ban) > 0 || len(w.Unban) > 0 || w.Erase != nil
}

func (h *Handlers) append(ctx context.Context, writes []store.Write) []store.Outcome {
	if len(writes) == 0 {
		return nil
	}
	h.pause.At(pause.EventPlanned)
	begin := h.now()
	outcomes := h.store.Append(ctx, writes)
	h.metrics.Commit(len(writes), h.now().Sub(begin))
	h.pause.At(pause.EventCommitted)
	return outcomes
}

// inForce waits until the relay has applied position at, as long as the connection
// lives: it must not run ahead of what it has changed itself. What is durable stays
// true meanwhile.
func (s *Session) inForce(ctx context.Context, at store.Position) {
	for s.progress.Applied() < at && ctx.Err() == nil {
		s.awaitOnce(ctx, at)
	}
}

func (s *Session) awaitOnce(ctx context.Context, at store.Position) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.progress.Await(ctx, at); errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn("the relay does not follow its log", "conn", s.conn.ID(), "position", at)
	}
}
