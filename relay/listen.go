package relay

import (
	"log/slog"
	"net/http"

	"fencepost/relay/config"
)

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
