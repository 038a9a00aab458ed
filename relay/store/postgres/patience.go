package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Open opens the store in the database of url and starts its goroutines, which Close
// stops. A database that does not answer, or is starting, is waited for as long as
// Options.Patience; every other error comes at once. store.ErrSchema when the schema is
// of another version. ctx bounds Open only.
func Open(ctx context.Context, url string, opt Options) (*Store, error) {
	opt = opt.withDefaults()
	retry, until := newBackoff(), time.Now().Add(opt.Patience)
	for {
		s, err := open(ctx, url, opt)
		if err == nil || !away(err) || ctx.Err() != nil || !time.Now().Before(until) {
			return s, err
		}
		opt.Logger.Warn("the database does not answer, trying again", "err", err)
		retry.pause(ctx)
	}
}

// away reports whether err says that the database cannot be reached now: no connection,
// no room for one (53300), no answer, or a server that is starting or stopping (57P).
func away(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	if c := code(err); c != "" {
		return c == "53300" || slices.Contains([]string{"57P01", "57P02", "57P03"}, c)
	}
	var refused *pgconn.ConnectError
	return errors.As(err, &refused)
}
