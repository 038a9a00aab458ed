package control

import (
	"fmt"
	"net/netip"
	"slices"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"
)

// Bounds of what a row holds. A row is bounded by MaxBytes as well.
const (
	maxName  = 256     // bytes of a group id, role, claim or code
	maxText  = 4096    // bytes of a reason
	maxList  = 4096    // roles, codes or kinds of one row
	maxTags  = 10_000  // tags of one row
	maxCount = 1 << 31 // uses of a claim
	maxTime  = 1 << 62 // Unix seconds
	maxKind  = 1<<16 - 1
)

// field names a field of Row that a type may need.
type field uint16

const (
	key field = 1 << iota
	id
	group
	roles
	tags
	codes
	kinds
	address
	claim
	uses
	expires
	until
	stamp
	reason
	undo
	bar
)

// form says which fields a type needs and which it may have besides.
type form struct{ needs, may field }

// formOf is the table behind the comments of the types.
func formOf(t Type) (form, bool) {
	f, ok := map[Type]form{
		KeyBanned:   {key, reason | stamp},
		KeyUnbanned: {key, 0},
		KeyVanished: {key | until, stamp},

		MemberPut:     {key, claim | stamp},
		MemberRemoved: {key, stamp},
		ClaimPut:      {claim, uses | expires},
		ClaimRemoved:  {claim, 0},

		KindsDisallowed: {kinds, undo},
		KindsAllowed:    {kinds, undo},

		AddressBlocked:   {address, reason},
		AddressUnblocked: {address, 0},

		EventBanned:   {id, reason},
		EventUnbanned: {id, 0},

		GroupCreated: {group | key | stamp, roles | tags},
		GroupEdited:  {group | stamp, tags},
		GroupDeleted: {group, stamp},
		GroupPut:     {group | key | stamp, roles | codes},
		GroupRemoved: {group | key | stamp, reason | bar},
		GroupInvite:  {group | codes, key | stamp | undo},
		GroupPinned:  {group | stamp, tags},
	}[t]
	return f, ok
}

// check returns ErrBad, with the field, when the type does not allow the row.
func (r *Row) check() error {
	f, ok := formOf(r.Type)
	if !ok {
		return fmt.Errorf("%w: unknown type %q", ErrBad, r.Type)
	}
	has := r.fields()
	if missing := f.needs &^ has; missing != 0 {
		return fmt.Errorf("%w: %s without %s", ErrBad, r.Type, missing)
	}
	if surplus := has &^ (f.needs | f.may); surplus != 0 {
		return fmt.Errorf("%w: %s with %s", ErrBad, r.Type, surplus)
	}
	if bad := r.badFields() & has; bad != 0 {
		return fmt.Errorf("%w: %s of %s", ErrBad, bad, r.Type)
	}
	return nil
}

// part is one field of a row: whether it is set, and whether its value is sound.
type part struct {
	field field
	set   bool
	sound bool
}

func (r *Row) parts() []part {
	return []part{
		{key, r.Key != "", isHex(r.Key)},
		{id, r.ID != "", isHex(r.ID)},
		{group, r.Group != "", isName(r.Group)},
		{roles, len(r.Roles) > 0, areNames(r.Roles)},
		{tags, len(r.Tags) > 0, areTags(r.Tags)},
		{codes, len(r.Codes) > 0, areNames(r.Codes)},
		{kinds, len(r.Kinds) > 0, areKinds(r.Kinds)},
		{address, r.Address != "", isAddress(r.Address)},
		{claim, r.Claim != "", isName(r.Claim)},
		{uses, r.Uses != 0, r.Uses > 0 && r.Uses <= maxCount},
		{expires, r.Expires != 0, isTime(r.Expires)},
		{until, r.Until != 0, isTime(r.Until)},
		{stamp, r.Stamp != 0, isTime(r.Stamp)},
		{reason, r.Reason != "", len(r.Reason) <= maxText && utf8.ValidString(r.Reason)},
		{undo, r.Undo, true},
		{bar, r.Bar, true},
	}
}

func (r *Row) fields() (has field) {
	for _, p := range r.parts() {
		if p.set {
			has |= p.field
		}
	}
	return has
}

func (r *Row) badFields() (bad field) {
	for _, p := range r.parts() {
		if !p.sound {
			bad |= p.field
		}
	}
	return bad
}

// String names the fields, as in Row.
func (f field) String() string {
	names := []string{
		"key", "id", "group", "roles", "tags", "codes", "kinds", "address", "claim",
		"uses", "expires", "until", "stamp", "reason", "undo", "bar",
	}
	var out string
	for i, name := range names {
		if f&(1<<i) == 0 {
			continue
		}
		if out != "" {
			out += ", "
		}
		out += name
	}
	return out
}

func isHex(s string) bool {
	return len(s) == 64 && !slices.ContainsFunc([]byte(s), func(c byte) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'f')
	})
}

func isName(s string) bool { return s != "" && len(s) <= maxName && utf8.ValidString(s) }

func areNames(list []string) bool {
	return len(list) <= maxList && !slices.ContainsFunc(list, func(s string) bool { return !isName(s) })
}

func areTags(list nostr.Tags) bool {
	return len(list) <= maxTags && !slices.ContainsFunc(list, func(t nostr.Tag) bool {
		return len(t) == 0 || slices.ContainsFunc(t, func(s string) bool { return !utf8.ValidString(s) })
	})
}

func areKinds(list []int) bool {
	return len(list) <= maxList && !slices.ContainsFunc(list, func(k int) bool { return k < 0 || k > maxKind })
}

// isAddress accepts an address or a prefix without host bits, both in the form
// that netip prints, without a zone and not IPv4 within IPv6: one spelling a
// network.
func isAddress(s string) bool {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Zone() == "" && !a.Is4In6() && a.String() == s
	}
	p, err := netip.ParsePrefix(s)
	return err == nil && p == p.Masked() && !p.Addr().Is4In6() && p.String() == s
}

func isTime(t int64) bool { return t > 0 && t <= maxTime }
