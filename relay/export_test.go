package relay

import "log/slog"

// Sockets is how many sockets a relay lets in.
func Sockets(log *slog.Logger, descriptors, connections int) int {
	return (&Relay{log: log}).sockets(descriptors, connections)
}
