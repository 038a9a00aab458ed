package group

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Times of a Scribe.
const (
	pace     = time.Second // between two lists of one group
	maxRetry = time.Minute // between two tries of one that fails
	batch    = 64          // lists in one commit
)

// ScribeOptions are what a Scribe needs. All are required.
type ScribeOptions struct {
	Book *Book
	// Append commits events; it blocks until they are durable.
	Append func(ctx context.Context, writes []store.Write) []store.Outcome
	// Stored returns what the relay has told of the state of a group: the stored
	// event of that kind.
	Stored func(ctx context.Context, kind int, id string) (ev *wire.Event, ok bool, err error)
	Now    func() time.Time
	Logger *slog.Logger
}

// Scribe writes the lists of members (kind 39002) of groups whose members have
// changed: the first change of a group at once, then one list a second at most. A
// list has as many p tags as there are members, but not more than MaxListed.
//
// With the list it writes the metadata (39000) and the admins (39001) of a group in
// which these name a key that has vanished: nobody else does, since no request about
// the group has changed them. They are looked at again with each later change, which
// may have been told with an earlier created_at.
//
// A list that was not written is tried again, later and later. When several
// replicas run, each looks at what is stored and writes what that does not say; two
// that look at once write the same list, of which one is a duplicate, or with another
// second the newer one stays.
type Scribe struct {
	// Set at construction, never changed.
	opt ScribeOptions

	// Owned by Run.
	due   map[string]*entry // group -> when its list is to be written
	first bool              // nothing has been looked at yet
}

// entry is a group whose list is to be written, or was within the last second.
type entry struct {
	at    time.Time     // not before
	dirty bool          // the list is out of date
	state bool          // the metadata or the admins may be so too
	wait  time.Duration // what the last try that failed waits; 0 when none did
}

// NewScribe returns a writer that does nothing until Run.
func NewScribe(o ScribeOptions) (*Scribe, error) {
	if o.Book == nil || o.Append == nil || o.Stored == nil || o.Now == nil || o.Logger == nil {
		return nil, errors.New("group: an option is missing")
	}
	return &Scribe{opt: o, due: map[string]*entry{}, first: true}, nil
}

// Run writes lists until ctx ends. Groups that have changed before it begins,
// which are all after the book was rebuilt, get a list only when the stored one says
// something else. One Run at a time.
func (s *Scribe) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.opt.Book.dirty.wake:
		case <-timer.C:
		}
		s.look(ctx)
		for s.write(ctx) {
		}
		timer.Stop()
		if next, ok := s.next(); ok {
			timer.Reset(max(next.Sub(s.opt.Now()), time.Millisecond))
		}
	}
}

// look takes in what is marked.
func (s *Scribe) look(ctx context.Context) {
	ids := s.opt.Book.dirty.take()
	for id, state := range ids {
		if s.first && s.current(ctx, id, state) {
			continue
		}
		e := s.due[id]
		if e == nil {
			e = &entry{at: s.opt.Now()}
			s.due[id] = e
		}
		e.dirty, e.state = true, e.state || state
	}
	s.first = false
}

// current reports whether what is stored is true.
func (s *Scribe) current(ctx context.Context, id string, state bool) bool {
	stored, _, err := s.opt.Stored(ctx, kindMembers, id)
	if err != nil || !s.opt.Book.lists(id, stored) {
		return false
	}
	if !state {
		return true
	}
	wrong, err := s.corrections(ctx, id)
	return err == nil && len(wrong) == 0
}

// corrections returns what has to be told anew of the metadata and the admins.
func (s *Scribe) corrections(ctx context.Context, id string) (events []*wire.Event, err error) {
	for _, kind := range []int{kindMetadata, kindAdmins} {
		stored, _, err := s.opt.Stored(ctx, kind, id)
		if err != nil {
			return nil, err
		}
		ev, err := s.opt.Book.correct(kind, id, stored)
		if err != nil {
			return nil, err
		}
		if ev != nil {
			events = append(events, ev)
		}
	}
	return events, nil
}

// write writes lists that are due, a batch at most, and reports whether there may
// be more.
func (s *Scribe) write(ctx context.Context) bool {
	now := s.opt.Now()
	var ids []string
	for id, e := range s.due {
		switch {
		case e.at.After(now):
		case !e.dirty:
			delete(s.due, id)
		case len(ids) < batch:
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || ctx.Err() != nil {
		return false
	}
	slices.Sort(ids)
	var writes []store.Write
	var written []string
	for _, id := range ids {
		// From here on a change marks the group again.
		write, ok, err := s.list(ctx, id, s.due[id].state)
		switch {
		case err != nil:
			s.later(ctx, id, err)
		case !ok:
			s.written(id)
		default:
			writes, written = append(writes, write), append(written, id)
		}
	}
	s.commit(ctx, written, writes)
	return true
}

// list returns what is to be written of a group, nothing when that is gone or another
// replica has written it already.
func (s *Scribe) list(ctx context.Context, id string, state bool) (w store.Write, ok bool, err error) {
	stored, _, err := s.opt.Stored(ctx, kindMembers, id)
	if err != nil {
		return w, false, err
	}
	if state {
		if w.Also, err = s.corrections(ctx, id); err != nil {
			return w, false, err
		}
	}
	if len(w.Also) == 0 && s.opt.Book.lists(id, stored) {
		return w, false, nil
	}
	after := int64(0)
	if stored != nil {
		after = int64(stored.CreatedAt)
	}
	w.Event, ok, err = s.opt.Book.memberList(id, after)
	return w, ok, err
}

// written makes the next list of a group wait for its pace.
func (s *Scribe) written(id string) { *s.due[id] = entry{at: s.opt.Now().Add(pace)} }

func (s *Scribe) commit(ctx context.Context, ids []string, writes []store.Write) {
	if len(writes) == 0 {
		return
	}
	for i, o := range s.opt.Append(ctx, writes) {
		switch {
		case o.Err == nil:
			s.written(ids[i])
		case errors.Is(o.Err, store.ErrVanished), errors.Is(o.Err, store.ErrDeleted), errors.Is(o.Err, store.ErrBanned):
			delete(s.due, ids[i]) // the group is gone
		case errors.Is(o.Err, store.ErrSuperseded), errors.Is(o.Err, store.ErrDuplicate):
			s.due[ids[i]].at = s.opt.Now().Add(pace) // another replica was faster: see what it wrote
		default:
			s.later(ctx, ids[i], o.Err)
		}
	}
}

// later tries again, after a time that doubles up to maxRetry.
func (s *Scribe) later(ctx context.Context, id string, err error) {
	e := s.due[id]
	e.wait = min(max(2*e.wait, pace), maxRetry)
	e.at = s.opt.Now().Add(e.wait + rand.N(e.wait/4))
	if ctx.Err() != nil {
		return // that is why
	}
	s.opt.Logger.Warn("list of members was not written", "group", id, "err", err)
}

// next returns when there is something to do.
func (s *Scribe) next() (at time.Time, ok bool) {
	for _, e := range s.due {
		if !ok || e.at.Before(at) {
			at, ok = e.at, true
		}
	}
	return at, ok
}
