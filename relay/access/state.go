package access

import (
	"net/netip"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
)

// state is what control rows add up to, groups aside: a pure fold over them in
// position order. It knows nothing of rules, clocks or connections.
type state struct {
	banned   map[string]string   // key -> reason
	members  map[string]struct{} // keys; the allow list of NIP-86 is the same set
	vanished map[string]int64    // key -> created_at up to which it has vanished
	claims   map[string]*claim   // code -> what it is good for

	denied  map[int]struct{} // kinds
	allowed map[int]struct{} // kinds; when there are any, no others are taken

	blocked map[netip.Prefix]string // network -> reason
	events  map[string]string       // banned id -> reason

	// epochs has the position of the last row that named a scope, for the scopes
	// that were ever named; those of groups aside.
	epochs  map[string]store.Position
	applied store.Position // the last row
}

// claim is an invite code of the relay (NIP-43).
type claim struct {
	uses    int   // how often it can be used; 0 is no bound
	used    int   // how often it was
	expires int64 // Unix seconds; 0 is never

	taken map[int]struct{} // slots, as many as were used of a claim with a bound
}

func newState() state {
	return state{
		banned: map[string]string{}, members: map[string]struct{}{}, vanished: map[string]int64{}, claims: map[string]*claim{},
		denied: map[int]struct{}{}, allowed: map[int]struct{}{},
		blocked: map[netip.Prefix]string{}, events: map[string]string{},
		epochs: map[string]store.Position{},
	}
}

// fold takes in one row, which control.Decode has accepted.
func (s *state) fold(r *control.Row) {
	switch r.Type {
	case control.KeyBanned, control.KeyVanished, control.MemberPut, control.MemberRemoved:
		s.foldKey(r)
	case control.KeyUnbanned:
		delete(s.banned, r.Key)
	case control.ClaimPut:
		s.claims[r.Claim] = &claim{uses: r.Uses, expires: r.Expires, taken: map[int]struct{}{}}
	case control.ClaimRemoved:
		delete(s.claims, r.Claim)
	case control.KindsDisallowed:
		mark(s.denied, r.Kinds, r.Undo)
	case control.KindsAllowed:
		mark(s.allowed, r.Kinds, r.Undo)
	case control.AddressBlocked:
		s.blocked[network(r.Address)] = r.Reason
	case control.AddressUnblocked:
		delete(s.blocked, network(r.Address))
	case control.EventBanned:
		s.events[r.ID] = r.Reason
	case control.EventUnbanned:
		delete(s.events, r.ID)
	}
}

// foldKey takes in a row that changes who is a member.
func (s *state) foldKey(r *control.Row) {
	if r.Type == control.MemberPut {
		s.members[r.Key] = struct{}{}
		delete(s.banned, r.Key)
		s.use(r.Claim)
		return
	}
	delete(s.members, r.Key)
	switch r.Type {
	case control.KeyBanned:
		s.banned[r.Key] = r.Reason
	case control.KeyVanished:
		s.vanished[r.Key] = max(s.vanished[r.Key], r.Until)
	}
}

func (s *state) use(code string) {
	if c, ok := s.claims[code]; ok {
		c.used++
	}
}

// take takes in that a row names a slot of a claim.
func (s *state) take(scope string) {
	code, n, ok := slotted(scope)
	if c := s.claims[code]; ok && c != nil {
		c.taken[n] = struct{}{}
	}
}

func mark(set map[int]struct{}, kinds []int, undo bool) {
	for _, k := range kinds {
		if undo {
			delete(set, k)
		} else {
			set[k] = struct{}{}
		}
	}
}

// network reads an address of a control row, which is sound.
func network(text string) netip.Prefix {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen())
	}
	p, _ := netip.ParsePrefix(text) // control.Decode has parsed it
	return p
}

// takes reports whether the relay takes events of kind.
func (s *state) takes(kind int) bool {
	if _, denied := s.denied[kind]; denied {
		return false
	}
	if len(s.allowed) == 0 {
		return true
	}
	_, allowed := s.allowed[kind]
	return allowed
}
