package relay

import (
	"context"
	"log/slog"

	"fencepost/relay/outbox"
	"fencepost/relay/store"
)

// Sockets is how many sockets a relay lets in.
func Sockets(log *slog.Logger, descriptors, connections int) int {
	return (&Relay{log: log}).sockets(descriptors, connections)
}

// Purge returns what is told of control rows that were applied, and what erases.
func Purge(s store.Store, self string, next outbox.Controls) (controls outbox.Controls, run func(ctx context.Context)) {
	p := newPurge(s, self, next, slog.New(slog.DiscardHandler))
	return p, p.run
}
