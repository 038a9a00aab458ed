package manage

import (
	"context"
	"errors"
	"fmt"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Letter is a row of the log that a replica has given up to deliver. Nothing of the row
// itself is told.
type Letter struct {
	Position uint64 `json:"position"`
	Replica  string `json:"replica"`
	Attempts int    `json:"attempts"`
	Error    string `json:"error"` // its class
	Time     int64  `json:"time"`  // Unix seconds
}

// maxLetters bounds a list.
const maxLetters = 1000

func (a *API) deadLetters(ctx context.Context, p *args) (any, error) {
	if err := p.end(); err != nil {
		return nil, err
	}
	list, err := a.o.Letters.DeadLetters(ctx, maxLetters)
	return entries(list, func(l store.DeadLetter) Letter {
		return Letter{Position: uint64(l.Position), Replica: l.Replica, Attempts: l.Attempts, Error: l.Class, Time: l.At.Unix()}
	}), err
}

// requeue has a dead letter of this replica tried again, and does not wait for that.
func (a *API) requeue(ctx context.Context, p *args) (any, error) {
	at := p.position()
	if err := p.end(); err != nil {
		return nil, err
	}
	err := a.o.Letters.Requeue(ctx, at)
	if errors.Is(err, store.ErrNoLetter) {
		return nil, wire.Because(wire.Invalid, fmt.Sprintf("the replica that answers has no dead letter at position %d", at))
	}
	if err == nil {
		a.o.Logger.Info("managed", "method", p.method, "position", at)
	}
	return true, err
}
