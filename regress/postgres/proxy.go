package postgres

import (
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// Fault is what a Proxy does to everything that comes its way.
type Fault int

// The faults.
const (
	// None passes everything on.
	None Fault = iota
	// BlackHole lets nothing arrive and tells nobody. What was sent meanwhile arrives
	// once the fault is over, as TCP has it.
	BlackHole
	// Reset resets the connections that there are, and new ones as they come.
	Reset
)

// Proxy stands between a replica and its database. Its methods may be called from any
// goroutine.
type Proxy struct {
	// Set at construction, never changed.
	listener net.Listener
	target   string // host:port of the database
	through  string // URL

	group errgroup.Group // its functions return no error

	mu sync.Mutex // guards the fields below; never held across I/O
	// +checklocks:mu
	fault Fault
	// +checklocks:mu
	healed chan struct{} // closed when the black hole is over; nil without one
	// +checklocks:mu
	delay time.Duration
	// +checklocks:mu
	deaf bool
	// +checklocks:mu
	links map[*link]bool
	// +checklocks:mu
	traps []*Trap
	// +checklocks:mu
	ended bool
}

// NewProxy starts a proxy before the database of that URL, which ends with the test.
func NewProxy(t testing.TB, database string) *Proxy {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{listener: l, target: u.Host, links: make(map[*link]bool)}
	u.Host = l.Addr().String()
	p.through = u.String()
	p.group.Go(p.accept)
	t.Cleanup(p.end)
	return p
}

// URL is that of the database by way of the proxy.
func (p *Proxy) URL() string { return p.through }

// Ports are the ports by which the database knows the connections that there are
// (client_port in pg_stat_activity).
func (p *Proxy) Ports() (ports []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		ports = append(ports, l.database.LocalAddr().(*net.TCPAddr).Port)
	}
	return ports
}

// Set makes f the fault from now on.
func (p *Proxy) Set(f Fault) {
	for _, l := range p.set(f) {
		l.reset()
	}
}

// set returns the links that the new fault ends.
func (p *Proxy) set(f Fault) (ended []*link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.healed != nil {
		close(p.healed)
		p.healed = nil
	}
	switch p.fault = f; f {
	case BlackHole:
		p.healed = make(chan struct{})
	case Reset:
		for l := range p.links {
			ended = append(ended, l)
		}
	}
	return ended
}

// Delay holds up each piece that passes, in both directions, for that long.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Deafen drops, while on, whatever the database sends on connections that listen. Nobody
// is told, and it does not arrive later.
func (p *Proxy) Deafen(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = on
}

// Silence swallows from now on what comes on the connections that there are, in both
// directions. Everything is acknowledged, nobody is told, and new connections work.
func (p *Proxy) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.silent.Store(true)
	}
}

func (p *Proxy) deafens() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deaf
}

// obstacles returns what is in the way: a channel that is closed when the black hole
// is over, nil without one, and the delay.
func (p *Proxy) obstacles() (healed <-chan struct{}, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.healed, p.delay
}

func (p *Proxy) accept() error {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return nil // by end
		}
		database, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close() // the database is down, and so is this
			continue
		}
		l := &link{proxy: p, client: client.(*net.TCPConn), database: database.(*net.TCPConn), done: make(chan struct{})}
		if !p.add(l) {
			l.reset()
			continue
		}
		p.group.Go(l.forth)
		p.group.Go(l.back)
	}
}

// add reports whether the link may begin.
func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.fault == Reset {
		return false
	}
	p.links[l] = true
	return true
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (p *Proxy) end() {
	_ = p.listener.Close() // open until now
	for _, l := range p.finish() {
		l.reset()
	}
	_ = p.group.Wait() // no errors
}

func (p *Proxy) finish() []*link {
	ended := p.set(Reset)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for _, t := range p.traps {
		t.Release()
	}
	return ended
}
