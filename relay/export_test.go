package relay

import (
	"context"
	"log/slog"
	"time"

	"fencepost/relay/access"
	"fencepost/relay/outbox"
	"fencepost/relay/store"
	"fencepost/relay/web"
)

// Sockets is how many sockets a relay lets in.
func Sockets(log *slog.Logger, descriptors, connections int) int {
	return (&Relay{log: log}).sockets(descriptors, connections)
}

// Ready is what readiness says, but for the position.
func Ready(draining bool, lag, maxLag time.Duration, stuck, hears, refuses bool) web.Readiness {
	return condition{draining: draining, lag: lag, maxLag: maxLag, stuck: stuck, hears: hears, refuses: refuses}.readiness()
}

// Settled blocks as a scribe does after it has read s.
func Settled(ctx context.Context, s store.Store, p interface {
	Await(ctx context.Context, at store.Position) error
},
) error {
	return settled(ctx, s, p)
}

// WatchHistory blocks as a relay does that began with the log as it is now.
func WatchHistory(ctx context.Context, s store.Store, applied func() store.Position) error {
	_, watch, err := History(ctx, s, applied)
	if err != nil {
		return err
	}
	return watch(ctx)
}

// Newest returns what a relay's metrics say of the head of s, and how it looks.
func Newest(ctx context.Context, s store.Store) (head func() store.Position, look func(context.Context) error, err error) {
	h, err := newHistory(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	h.applied = func() store.Position { return 0 }
	return h.head, h.look, nil
}

// History returns the log of s as a relay's follower reads it from now on, and what
// watches it.
func History(ctx context.Context, s store.Store, applied func() store.Position) (log outbox.Log, watch func(context.Context) error, err error) {
	h, err := newHistory(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	h.applied = applied
	return h.log, h.watch, nil
}

// OpenIdentity returns the secret key of a relay over s.
func OpenIdentity(ctx context.Context, dir string, s store.Store) (secret string, err error) {
	i, err := openIdentity(ctx, dir, s)
	return i.secret, err
}

// Purge returns what is told of control rows that were applied, and what erases,
// beginning with what the rows say that stand in s when begin is called.
func Purge(
	s store.Store, self string, next outbox.Controls,
) (controls outbox.Controls, begin func(ctx context.Context) error, run func(ctx context.Context)) {
	p := newPurge(s, self, nil, next, slog.New(slog.DiscardHandler))
	begin = func(ctx context.Context) error {
		rows, err := s.ReadControl(ctx, 0, 1000)
		for i := range rows {
			if x, ok, bad := erasureOf(&rows[i], self); ok {
				p.left = append(p.left, x)
			} else if bad != nil {
				return bad
			}
		}
		return err
	}
	return p, begin, p.run
}

// Outstanding returns what a start finds to be erased.
func Outstanding(ctx context.Context, s store.Store) ([]store.Erasure, error) {
	p := &permissions{policy: access.New(access.Options{})}
	err := p.rebuild(ctx, s)
	return p.left, err
}
