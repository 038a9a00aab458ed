package manage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

const (
	// maxRounds is how often a change is planned anew whose permissions move
	// meanwhile.
	maxRounds = 3
	// patience is how long this replica may take to follow its own log.
	patience = 10 * time.Second
)

var (
	errMoving = wire.Because(wire.Failed, "permissions changed too often, try again")
	errLate   = wire.Because(wire.Failed, "the change is stored and will be in force, but this relay does not follow its log")
)

// change commits what plan says and returns when it is in force here. After a
// refusal it plans from the state that it was refused for.
func (a *API) change(ctx context.Context, method string, plan func() (store.Write, error)) error {
	for range maxRounds {
		w, err := plan()
		if err != nil || len(w.Controls) == 0 { // none: it is so already, and in force
			return err
		}
		out := a.o.Store.Append(ctx, []store.Write{w})[0]
		switch {
		case errors.Is(out.Err, store.ErrMoved):
			err = a.await(ctx, out.Position)
		case out.Err == nil:
			a.o.Logger.Info("managed", "method", method, "position", out.Last)
			return a.await(ctx, out.Last)
		default:
			err = fmt.Errorf("append: %w", out.Err)
		}
		if err != nil {
			return err
		}
	}
	return errMoving
}

// await blocks until this replica has applied at.
func (a *API) await(ctx context.Context, at store.Position) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := a.o.Progress.Await(waiting, at)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return errLate
	}
	return err
}
