package handlers

import (
	"context"
	"errors"
	"time"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

// latePatience is how long a query that would be refused waits for what other replicas
// have committed.
const latePatience = time.Second

// mayBeLate reports whether err refuses a query because of permissions, which another
// replica may have changed already. Such a query is judged again, in its own place among
// those of its connection: the reader does not wait, and nobody waits more often than he
// may ask.
func (s *Session) mayBeLate(err error) bool {
	var r wire.Reason
	return s.replicas && errors.As(err, &r) && (r.Prefix == wire.Restricted || r.Prefix == wire.AuthRequired)
}

// judgeLate judges filters once more, for who the reader was when they were read (G9), when
// the changes of permissions are in force here that were committed by now. Where that takes
// too long it judges by what is in force.
func (s *Session) judgeLate(ctx context.Context, keys []string, filters []*wire.Filter) error {
	s.catchUp(ctx)
	return s.reading.MayRead(keys, filters)
}

func (s *Session) catchUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, latePatience)
	defer cancel()
	if info, err := s.store.Log(ctx); err == nil {
		_ = s.progress.Await(ctx, info.Control) // who does not come in time is judged as he is
	}
}

// mayNow is judgeLate for a generation that is reserved, which every revocation from then
// on finds. A refused one is ended.
func (s *Session) mayNow(ctx context.Context, h *lifecycle.Handle, keys []string) bool {
	if ctx.Err() != nil {
		return false // retired while it waited for a place
	}
	return s.unless(h, s.judgeLate(ctx, keys, h.Filters()))
}
