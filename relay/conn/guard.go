package conn

import (
	"net"
	"net/netip"

	"fencepost/registry"
)

// HTTPSockets is the room for HTTP beside WebSockets: health checks, scrapes, the
// information document, and telling a client that there are too many.
const HTTPSockets = 256

// httpPerAddress is how many of them one address may have.
const httpPerAddress = 32

// guard is a listener that lets only so many sockets be open at once.
type guard struct {
	*net.TCPListener
	server  *Server
	sockets *registry.Admissions
	most    int
}

// Guard returns l with caps on the sockets that are open at once, whatever they
// are used for: in total and per address as in Options, each with some room for
// plain HTTP, and at most most in any case (0 is no such bound). A trusted proxy
// has no cap of its own, because its clients are known only after HTTP. What
// comes over a cap is closed at once, unread.
func (s *Server) Guard(l *net.TCPListener, most int) net.Listener {
	return &guard{TCPListener: l, server: s, sockets: registry.NewAdmissions(), most: most}
}

// Accept implements net.Listener.
func (g *guard) Accept() (net.Conn, error) {
	for {
		c, err := g.AcceptTCP()
		if err != nil {
			return nil, err
		}
		o := g.server.options.Load()
		release, err := g.admit(o, parseAddr(c.RemoteAddr().String()))
		if err == nil {
			return &guarded{TCPConn: c, release: release}, nil
		}
		o.Metrics.ConnRefused("socket")
		_ = c.Close() // nobody has used it
	}
}

func (g *guard) admit(o *Options, addr netip.Addr) (release func(), err error) {
	perAddress, total := o.MaxPerAddress, o.MaxTotal
	if isTrusted(addr, o.TrustedProxies) {
		perAddress = 0
	}
	if perAddress > 0 {
		perAddress += httpPerAddress
	}
	if total > 0 {
		total += HTTPSockets
	}
	if g.most > 0 && (total == 0 || total > g.most) {
		total = g.most
	}
	return g.sockets.Admit(addr, perAddress, total)
}

// guarded is a socket that has a place until it is closed.
type guarded struct {
	*net.TCPConn
	release func()
}

// Close implements net.Conn.
func (c *guarded) Close() error {
	defer c.release()
	return c.TCPConn.Close()
}
