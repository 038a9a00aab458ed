package dapr

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	"fencepost/lifecycle/fence/kv"
)

// Kind says how a component behaves.
type Kind int

// The components.
const (
	Atomic Kind = iota
	Redis
)

var (
	errETag = errors.New("possible etag mismatch. error from state store")
	// ErrLost is the answer that does not arrive, to a transaction that was carried out.
	ErrLost = errors.New("connection reset")
)

// Memory is a kv.KV.
type Memory struct {
	// Set at construction, never changed.
	kind    Kind
	missing []string

	mu sync.Mutex // guards the fields below; held for memory only
	// +checklocks:mu
	values map[string]version
	// +checklocks:mu
	last int // version that was given
	// +checklocks:mu
	lose int // how many answers to transactions get lost
	// +checklocks:mu
	transactions int
}

type version struct {
	value []byte
	etag  string
}

// NewMemory returns an empty store that lacks these capabilities.
func NewMemory(kind Kind, missing ...string) *Memory {
	return &Memory{kind: kind, missing: missing, values: make(map[string]version)}
}

// Missing implements kv.KV.
func (m *Memory) Missing(context.Context) ([]string, error) { return m.missing, nil }

// Get implements kv.KV.
func (m *Memory) Get(ctx context.Context, key string) (value []byte, etag string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.values[key]
	return v.value, v.etag, ctx.Err()
}

// Transact implements kv.KV.
func (m *Memory) Transact(ctx context.Context, ops []kv.Op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	m.transactions++
	failed := false
	for _, op := range ops {
		failed = failed || !m.holdsLocked(op)
	}
	for _, op := range ops {
		if !failed || m.kind == Redis && m.holdsLocked(op) {
			m.applyLocked(op)
		}
	}
	switch {
	case failed:
		return errETag
	case m.lose > 0:
		m.lose--
		return ErrLost
	}
	return nil
}

func (m *Memory) holdsLocked(op kv.Op) bool { return !op.Guard || m.values[op.Key].etag == op.ETag }

func (m *Memory) applyLocked(op kv.Op) {
	if op.Value == nil {
		delete(m.values, op.Key)
		return
	}
	m.last++
	m.values[op.Key] = version{value: append([]byte{}, op.Value...), etag: strconv.Itoa(m.last)}
}

// Lose lets the answers to the next n transactions get lost.
func (m *Memory) Lose(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lose = n
}

// Transactions returns how many there were.
func (m *Memory) Transactions() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.transactions
}

// Keys returns how many keys have this text in them.
func (m *Memory) Keys(text string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.values {
		if strings.Contains(key, text) {
			n++
		}
	}
	return n
}
