package relay

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"fencepost/relay/config"
	"fencepost/relay/conn"
)

const (
	// storeFiles is how many file descriptors are kept for the store (512 tables,
	// then its logs) and for the rest of the process.
	storeFiles = 640
	// leastSockets is how many sockets there are even when that leaves fewer.
	leastSockets = 16
)

func listen(ctx context.Context, addr string) (*net.TCPListener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l.(*net.TCPListener), nil // what "tcp" gives
}

// sockets returns how many sockets may be open at once when the process may have
// that many file descriptors (0: not known, nor is the answer then). It warns
// when they do not suffice for the connections that the configuration allows.
func (r *Relay) sockets(descriptors, connections int) int {
	if descriptors == 0 {
		return 0
	}
	most := max(descriptors-storeFiles, leastSockets)
	if need := connections + conn.HTTPSockets; connections > 0 && most < need {
		r.log.Warn("too few file descriptors for network.max_connections: raise the limit of the process (RLIMIT_NOFILE)",
			"limit", descriptors, "needed", need+storeFiles, "sockets", most)
	}
	return most
}

// maxHeader bounds the memory of an HTTP connection; browsers and proxies send a
// few KiB. net/http reads 4 KiB more before it refuses.
const maxHeader = 16 << 10

// newHTTP returns the server of what has not been upgraded: its timeouts end
// with the upgrade, after which relay/conn sets its own.
func newHTTP(h http.Handler, c config.Network, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		MaxHeaderBytes:    maxHeader,
		ReadHeaderTimeout: c.HandshakeTimeout,
		ReadTimeout:       c.ReadTimeout,
		WriteTimeout:      c.WriteTimeout,
		IdleTimeout:       c.IdleTimeout,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
