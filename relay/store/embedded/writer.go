package embedded

import (
	"fmt"

	"fencepost/relay/store"
)

// sweepRows is how many rows one commit of a sweep or an erasure takes.
const sweepRows = 500

// write is the writer goroutine: it answers requests until the queue is closed
// and empty.
func (s *Store) write() {
	for {
		requests, ok := s.queue.Take()
		if !ok {
			return
		}
		err := s.commit(requests)
		s.note(err)
		for _, r := range requests {
			if err != nil {
				r.Fail(fmt.Errorf("commit: %w", err))
			}
			r.Answered()
		}
	}
}

// Refusing reports whether the last commit failed. It does not lock.
func (s *Store) Refusing() bool { return s.refusing.Load() }

// note logs when commits begin to fail and when they go on, not each of them.
func (s *Store) note(err error) {
	switch failed, before := err != nil, s.refusing.Swap(err != nil); {
	case failed && !before:
		s.opt.Logger.Error("commits are refused", "err", err)
	case !failed && before:
		s.opt.Logger.Info("commits go on")
	}
}

// commit decides the requests, makes the result durable and publishes it. On an
// error nothing of it is visible and the positions are given again.
func (s *Store) commit(requests []*request) error {
	if err := s.ensureWritable(); err != nil {
		return err
	}
	t := newTxn(s.engine.db, s.cache, s.marks, s.head(), s.opt.Now())
	defer func() { _ = t.batch.Close() }() // only gives memory back
	for _, r := range requests {
		if err := s.decide(t, r); err != nil {
			return err
		}
	}
	if err := t.finish(); err != nil || t.empty() {
		return err
	}
	if err := s.engine.commit(t.batch); err != nil {
		return err
	}
	for _, err := range t.unread {
		s.leaveOut(err)
	}
	s.marks.add(t.fresh)
	for _, row := range t.rows {
		if row.Type == store.EntryEvent {
			s.cache.put(uint64(row.Position), row.Event)
		}
	}
	defer s.wake()
	if err := s.publish(s.newView(store.Position(t.head)), t.rows, t.voids); err != nil {
		s.opt.Logger.Warn("release old snapshot", "err", err) // the commit stands
	}
	return nil
}

// decide answers one request inside t, for the case that t becomes durable.
func (s *Store) decide(t *txn, r *request) (err error) {
	switch {
	case r.IsSweep():
		r.Removed, err = t.sweep(r.Until.Unix(), uint32(r.Until.Nanosecond()), sweepRows)
		return err
	case r.Keep != nil:
		r.Removed, err = t.trim(*r.Keep, r.Now)
		return err
	case r.Letter != nil:
		r.Removed, err = t.letter(r.Letter)
		return err
	case r.Erasure != nil:
		r.Removed, err = t.erase(r.Erasure, r.Found)
		return err
	}
	for i := range r.Writes {
		if r.Outcomes[i], err = t.write(&r.Writes[i]); err != nil {
			return err
		}
	}
	return nil
}

// head is the last published position; only the writer changes it.
func (s *Store) head() store.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.head
}

// ensureWritable returns why a commit cannot be begun. After a failure of the
// database it opens it anew, once the folder takes writes again.
func (s *Store) ensureWritable() error {
	if err := checkSpace(s.fs, s.dir, s.opt.MinFreeBytes); err != nil {
		return err
	}
	if s.engine == nil {
		return s.reopen()
	}
	if err := s.engine.health.fatal(); err != nil {
		return s.recover(err)
	}
	if err := s.engine.health.stalled(); err != nil {
		return fmt.Errorf("database cannot write its tables: %w", err)
	}
	return nil
}
