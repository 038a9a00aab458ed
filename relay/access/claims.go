package access

import (
	"cmp"
	"crypto/rand"
	"slices"
	"time"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Claim is an invite code of the relay (NIP-43).
type Claim struct {
	Code    string
	Uses    int       // how often it can be used; 0 is no bound
	Used    int       // how often it was
	Expires time.Time // zero: never
}

// CreateClaim makes a code that admits uses keys (0 is no bound) until expires
// (zero: for ever).
func (p *Policy) CreateClaim(uses int, expires time.Time) (code string, w store.Write, err error) {
	row := control.Row{Type: control.ClaimPut, Claim: rand.Text(), Uses: uses}
	if !expires.IsZero() {
		row.Expires = expires.Unix()
	}
	if uses < 0 || !expires.IsZero() && !expires.After(p.now()) {
		return "", store.Write{}, wire.Because(wire.Invalid, "a claim has a number of uses, and expires in the future")
	}
	w, err = with(store.Write{}, row)
	return row.Claim, w, err
}

// RemoveClaim makes code worthless. Whoever was admitted by it stays.
func (p *Policy) RemoveClaim(code string) (store.Write, error) {
	if !p.hasClaim(code) {
		return store.Write{}, nil
	}
	return with(store.Write{}, control.Row{Type: control.ClaimRemoved, Claim: code}, ScopeClaims)
}

// Claims returns all claims in the order of their codes, spent ones too.
func (p *Policy) Claims() []Claim {
	p.mu.RLock()
	defer p.mu.RUnlock()
	list := make([]Claim, 0, len(p.state.claims))
	for code, c := range p.state.claims {
		one := Claim{Code: code, Uses: c.uses, Used: c.used}
		if c.expires != 0 {
			one.Expires = time.Unix(c.expires, 0)
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Claim) int { return cmp.Compare(a.Code, b.Code) })
	return list
}

func (p *Policy) hasClaim(code string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	_, there := p.state.claims[code]
	return there
}
