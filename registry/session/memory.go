package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"fencepost/relay/store"
)

const (
	// Keep is how long an index remembers sessions that ended and nodes that do not
	// report.
	Keep = 24 * time.Hour
	// KeepEnded is how many sessions that ended it remembers of one node, the last one
	// of each key.
	KeepEnded = 100_000
)

// Memory is the index of a process that runs alone, or of several in a test.
type Memory struct {
	now func() time.Time // the clock of the index; set at construction, never changed

	mu sync.Mutex // guards the fields below; never held across I/O or a callback
	// +checklocks:mu
	nodes map[store.Node]*node
	// +checklocks:mu
	reported int // incarnations so far
}

// node is what one process said.
type node struct {
	order       int // of the first report: a later incarnation has a higher one
	observed    time.Time
	stopped     bool
	connections int
	sessions    map[string]map[uint64]*entry // key -> connection
	left        []ref                        // sessions that ended, the oldest first; some are forgotten already
	last        map[string]ref               // key -> its session that ended last
}

type ref struct {
	conn uint64
	key  string
}

type entry struct {
	active, ended time.Time // ended is zero while it is open
	doc           []byte
}

// NewMemory returns an empty index over a clock.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, nodes: make(map[store.Node]*node)}
}

// Report implements store.Sessions.
func (m *Memory) Report(ctx context.Context, r store.SessionReport) (fresh bool, err error) {
	if err := errors.Join(r.Validate(), ctx.Err()); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	n := m.nodes[r.Node]
	if fresh = n == nil; fresh {
		m.reported++
		n = &node{order: m.reported, sessions: make(map[string]map[uint64]*entry), last: make(map[string]ref)}
		m.nodes[r.Node] = n
	}
	n.observed, n.stopped, n.connections = now, r.Stopped, r.Connections
	for _, o := range r.Open {
		n.put(ref{o.Conn, o.Key}, &entry{active: now.Add(-o.Idle), doc: slices.Clone(o.Doc)})
	}
	for _, o := range r.Ended {
		n.end(ref{o.Conn, o.Key}, now)
	}
	if r.Stopped {
		n.each(func(at ref, _ *entry) { n.end(at, now) })
	}
	m.forget(now)
	return fresh, nil
}

func (n *node) put(at ref, e *entry) {
	if n.sessions[at.key] == nil {
		n.sessions[at.key] = make(map[uint64]*entry)
	}
	n.sessions[at.key][at.conn] = e
}

func (n *node) remove(at ref) {
	if delete(n.sessions[at.key], at.conn); len(n.sessions[at.key]) == 0 {
		delete(n.sessions, at.key)
	}
}

// each calls yield, which may remove sessions, with all of them.
func (n *node) each(yield func(at ref, e *entry)) {
	for key := range n.sessions {
		n.of(key, yield)
	}
}

// of is each of one key. It costs what that key has.
func (n *node) of(key string, yield func(at ref, e *entry)) {
	for conn, e := range n.sessions[key] {
		yield(ref{conn, key}, e)
	}
}

// end notes that a session ended, which is then the one of its key that is kept.
func (n *node) end(at ref, now time.Time) {
	e := n.sessions[at.key][at.conn]
	if e == nil || !e.ended.IsZero() {
		return
	}
	if before, ok := n.last[at.key]; ok {
		n.remove(before)
	}
	e.ended, n.last[at.key] = now, at
	n.left = append(n.left, at)
}

// forget drops what ended before a time, and the oldest of more than KeepEnded.
func (n *node) forget(before time.Time) {
	for len(n.left) > 0 {
		at := n.left[0]
		if n.last[at.key] == at {
			if len(n.last) <= KeepEnded && !n.sessions[at.key][at.conn].ended.Before(before) {
				return
			}
			n.remove(at)
			delete(n.last, at.key)
		}
		n.left = n.left[1:]
	}
}

// forget drops what is older than Keep.
//
// +checklocks:m.mu
func (m *Memory) forget(now time.Time) {
	for id, n := range m.nodes {
		n.forget(now.Add(-Keep))
		if now.Sub(n.observed) > Keep {
			delete(m.nodes, id)
		}
	}
}

// OfKeys implements store.Sessions. It costs what these keys have, as anybody may ask.
func (m *Memory) OfKeys(_ context.Context, now time.Time, keys []string, max int) ([]store.SessionSeen, error) {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	all, _ := m.read(now, func(n *node, yield func(ref, *entry)) {
		for _, key := range keys {
			n.of(key, yield)
		}
	})
	slices.SortStableFunc(all, func(a, b seen) int { return -a.end().Compare(b.end()) })
	var out []store.SessionSeen
	counts := make(map[string]int, len(keys))
	for _, s := range all {
		if counts[s.Key] < max {
			counts[s.Key]++
			out = append(out, s.SessionSeen)
		}
	}
	return out, nil
}

// All implements store.Sessions.
func (m *Memory) All(_ context.Context, now time.Time, after store.SessionRef, max int) ([]store.SessionSeen, []store.NodeSeen, error) {
	all, nodes := m.read(now, (*node).each)
	var out []store.SessionSeen
	for _, s := range all {
		if compare(s.SessionRef, after) > 0 && len(out) < max {
			out = append(out, s.SessionSeen)
		}
	}
	return out, nodes, nil
}

// seen is a session and when it ended.
type seen struct {
	store.SessionSeen
	ended time.Time
}

// end returns when s ended; an open one ends after all others.
func (s seen) end() time.Time {
	if s.Ended {
		return s.ended
	}
	return time.Unix(1<<40, 0)
}

// read returns the sessions that each yields of each node, and all nodes, in order.
func (m *Memory) read(now time.Time, each func(n *node, yield func(ref, *entry))) (all []seen, nodes []store.NodeSeen) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, n := range m.nodes {
		state := store.NodeState{Observed: n.observed, Age: max(0, now.Sub(n.observed)), Gone: n.stopped || m.succeeded(id, n)}
		nodes = append(nodes, store.NodeSeen{Node: id, Connections: n.connections, NodeState: state})
		each(n, func(r ref, e *entry) {
			all = append(all, seen{store.SessionSeen{
				SessionRef: store.SessionRef{Node: id, Conn: r.conn, Key: r.key},
				Ended:      !e.ended.IsZero(), Active: e.active, Doc: e.doc, NodeState: state,
			}, e.ended})
		})
	}
	slices.SortFunc(all, func(a, b seen) int { return compare(a.SessionRef, b.SessionRef) })
	slices.SortFunc(nodes, func(a, b store.NodeSeen) int { return compareNodes(a.Node, b.Node) })
	return all, nodes
}

// succeeded reports whether a later process has the name of n.
//
// +checklocks:m.mu
func (m *Memory) succeeded(id store.Node, n *node) bool {
	for other, later := range m.nodes {
		if other.Name == id.Name && later.order > n.order {
			return true
		}
	}
	return false
}

func compare(a, b store.SessionRef) int {
	return cmp.Or(compareNodes(a.Node, b.Node), cmp.Compare(a.Conn, b.Conn), strings.Compare(a.Key, b.Key))
}

func compareNodes(a, b store.Node) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Incarnation, b.Incarnation))
}
