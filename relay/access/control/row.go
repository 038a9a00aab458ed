package control

import "github.com/nbd-wtf/go-nostr"

// Version is the version of rows that this code writes, and the newest it reads.
const Version = 1

// Type says what a row changes. The names are kept for ever.
type Type string

// The types, with the fields that each needs; after a semicolon those that it may
// have.
const (
	KeyBanned   Type = "key.banned"   // Key; Reason, Stamp. Ends the membership
	KeyUnbanned Type = "key.unbanned" // Key
	KeyVanished Type = "key.vanished" // Key, Until; Stamp (NIP-62). Ends the membership

	MemberPut     Type = "member.put"     // Key; Claim when one was used, Stamp (NIP-43). Ends the ban
	MemberRemoved Type = "member.removed" // Key; Stamp
	ClaimPut      Type = "claim.put"      // Claim; Uses, Expires
	ClaimRemoved  Type = "claim.removed"  // Claim

	KindsDisallowed Type = "kinds.disallowed" // Kinds; Undo takes them off the deny list
	KindsAllowed    Type = "kinds.allowed"    // Kinds; Undo takes them off the allow list

	AddressBlocked   Type = "address.blocked"   // Address; Reason
	AddressUnblocked Type = "address.unblocked" // Address

	EventBanned   Type = "event.banned"   // ID; Reason
	EventUnbanned Type = "event.unbanned" // ID

	GroupCreated Type = "group.created" // Group, Key (its first admin), Stamp; Roles, Tags (NIP-29)
	GroupEdited  Type = "group.edited"  // Group, Stamp; Tags
	GroupDeleted Type = "group.deleted" // Group; Stamp
	GroupPut     Type = "group.put"     // Group, Key, Stamp; Roles, Codes
	GroupRemoved Type = "group.removed" // Group, Key, Stamp; Reason, Bar: until it is put again the key cannot join
	GroupInvite  Type = "group.invite"  // Group, Codes; Key, Stamp, Undo
	GroupPinned  Type = "group.pinned"  // Group, Stamp; Tags
)

// Row is one change. Which fields count is said at its Type.
type Row struct {
	Version int  `json:"v"`
	Type    Type `json:"type"`

	Key     string     `json:"key,omitempty"` // public key, hex
	ID      string     `json:"id,omitempty"`  // of an event, hex
	Group   string     `json:"group,omitempty"`
	Roles   []string   `json:"roles,omitempty"`
	Tags    nostr.Tags `json:"tags,omitempty"`
	Codes   []string   `json:"codes,omitempty"`
	Kinds   []int      `json:"kinds,omitempty"`
	Address string     `json:"address,omitempty"` // IP address or prefix
	Claim   string     `json:"claim,omitempty"`
	Uses    int        `json:"uses,omitempty"`    // how often a claim can be used; 0 is no bound
	Expires int64      `json:"expires,omitempty"` // Unix seconds, 0 is never
	Until   int64      `json:"until,omitempty"`   // Unix seconds, inclusive
	Stamp   int64      `json:"stamp,omitempty"`   // created_at of the relay's events that tell of the change
	Reason  string     `json:"reason,omitempty"`
	Undo    bool       `json:"undo,omitempty"`
	Bar     bool       `json:"bar,omitempty"`
}
