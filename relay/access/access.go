package access

import (
	"slices"
	"sync/atomic"

	"fencepost/relay/wire"
)

// Require says what a client must authenticate for (NIP-42).
type Require string

const (
	RequireNeeded Require = "none"  // only for what cannot be judged without a key
	RequireWrite  Require = "write" // for publishing
	RequireAll    Require = "all"   // for everything
)

// Policy answers for one relay.
type Policy struct {
	require atomic.Pointer[Require] // swapped at reload
}

// New returns a policy.
func New(r Require) *Policy {
	p := &Policy{}
	p.Set(r)
	return p
}

// Set changes what authentication is required for, from the next message on.
func (p *Policy) Set(r Require) { p.require.Store(&r) }

// MayWrite says whether the holder of keys may publish ev. A refusal is a
// wire.Reason: auth-required when a key would help, restricted when it did not.
func (p *Policy) MayWrite(keys []string, ev *wire.Event) error {
	if *p.require.Load() != RequireNeeded && len(keys) == 0 {
		return wire.Because(wire.AuthRequired, "this relay accepts events of authenticated clients only")
	}
	if ev.EmbedsProtected() { // NIP-70: a repost would publish it anyway
		return wire.Because(wire.Blocked, "a repost must not carry a protected event")
	}
	if ev.Protected() && !slices.Contains(keys, ev.PubKey) { // NIP-70
		if len(keys) == 0 {
			return wire.Because(wire.AuthRequired, "a protected event is accepted from its author only")
		}
		return wire.Because(wire.Restricted, "a protected event is accepted from its author only")
	}
	return nil
}

// MayRead says whether the holder of keys may ask for what filters select.
func (p *Policy) MayRead(keys []string, _ []*wire.Filter) error {
	if *p.require.Load() == RequireAll && len(keys) == 0 {
		return wire.Because(wire.AuthRequired, "this relay answers authenticated clients only")
	}
	return nil
}
