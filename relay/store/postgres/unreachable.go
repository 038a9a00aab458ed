package postgres

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// unreachable is why no connection could be made: its text is one line of what the
// server or the system says, err the whole chain.
type unreachable struct {
	cfg *pgx.ConnConfig
	err error
}

func (u *unreachable) Error() string {
	server := u.cfg.Host
	if !strings.HasPrefix(server, "/") { // else a socket
		server = net.JoinHostPort(server, strconv.Itoa(int(u.cfg.Port)))
	}
	return "PostgreSQL at " + server + ": " + u.why()
}

func (u *unreachable) Unwrap() error { return u.err }

func (u *unreachable) why() string {
	var server *pgconn.PgError
	var lookup *net.DNSError
	var system syscall.Errno
	switch {
	case errors.As(u.err, &server) && server.Code == "3D000":
		return fmt.Sprintf("there is no database %q; create it (createdb %s)", u.cfg.Database, u.cfg.Database)
	case errors.As(u.err, &server):
		return server.Message
	case errors.As(u.err, &lookup):
		return lookup.Err
	case errors.As(u.err, &system):
		return system.Error()
	}
	return strings.Join(strings.Fields(u.err.Error()), " ")
}
