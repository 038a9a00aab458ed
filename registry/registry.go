package registry

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"

	"fencepost/lifecycle"
)

// Registry is the set of open connections. See the package comment.
type Registry struct {
	conns       *xsync.MapOf[uint64, *lifecycle.Conn] // connection id -> connection
	last        atomic.Uint64                         // the last id that was given out
	*Admissions                                       // of WebSockets
}

// New returns an empty registry.
func New() *Registry {
	seed := maphash.MakeSeed()
	hash := func(id, _ uint64) uint64 { return maphash.Comparable(seed, id) }
	return &Registry{
		conns:      xsync.NewMapOfWithHasher[uint64, *lifecycle.Conn](hash),
		Admissions: NewAdmissions(),
	}
}

// NextID returns a number that no connection of this process had before.
func (r *Registry) NextID() uint64 { return r.last.Add(1) }

// Add makes c known under its id.
func (r *Registry) Add(c *lifecycle.Conn) { r.conns.Store(c.ID(), c) }

// Remove forgets c.
func (r *Registry) Remove(c *lifecycle.Conn) { r.conns.Delete(c.ID()) }

// Get returns the connection with that id.
func (r *Registry) Get(id uint64) (c *lifecycle.Conn, ok bool) { return r.conns.Load(id) }

// Each calls fn for every connection until fn returns false. Connections that
// are added or removed meanwhile may be seen or missed. fn may do anything.
func (r *Registry) Each(fn func(c *lifecycle.Conn) bool) {
	r.conns.Range(func(_ uint64, c *lifecycle.Conn) bool { return fn(c) })
}

// Len returns how many connections there are.
func (r *Registry) Len() int { return r.conns.Size() }
