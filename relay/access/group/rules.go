package group

import "time"

// Creation says who may create groups.
type Creation string

const (
	CreateNone     Creation = "none"     // groups are off
	CreateOperator Creation = "operator" // the operator and the relay's own key
	CreateAnyone   Creation = "anyone"
)

// Rules are what the operator decides about groups. A bound of 0 is none. They
// hold for requests only: who may read what does not depend on them.
type Rules struct {
	Create     Creation
	MaxAge     time.Duration // how old an event may be that is published in a group
	MaxGroups  int           // that live at one time
	MaxPerKey  int           // that live and were created by the same key, the operator's aside
	MaxMembers int           // of one group
	MaxPins    int           // of one group
}

// Bounds that nobody sets.
const (
	MaxListed = 2_000 // members that the list of members (39002) names

	maxID         = 64      // bytes of a group id
	turnEvery     = 10      // seconds between two changes of private or hidden
	maxNames      = 16      // different h tags of one event
	maxTargets    = 100     // p, e or code tags of one request
	maxCode       = 64      // bytes of an invite code
	maxCodes      = 100     // invite codes of one group
	maxRole       = 64      // bytes of a role name
	maxRoles      = 8       // roles of one member
	maxPrivileged = 200     // members of a group with a privileged role
	maxPrevious   = 64      // timeline references of one event
	maxTitle      = 256     // bytes of a name
	maxURL        = 2_048   // bytes of picture and banner
	maxText       = 4_096   // bytes of about
	maxKinds      = 256     // supported kinds
	maxListing    = 100     // child tags of one group
	maxMetadata   = 8 << 10 // bytes of all elements of the metadata's tags
	maxElements   = 4       // of a child tag
	maxMark       = 128     // bytes of an element of a child tag
	maxPinParts   = 3       // elements of a pin
	maxPinPart    = 256     // bytes of an element of a pin
	maxPinned     = 1 << 19 // bytes of all pins as JSON
	maxChildren   = 100     // groups with the same parent
	maxDepth      = 64      // groups from one to its root
)

// SetRules replaces the rules, for the requests that come from now on.
func (b *Book) SetRules(r Rules) { b.rules.Store(&r) }

// on reports whether there are groups at all.
func (r *Rules) on() bool { return r.Create == CreateOperator || r.Create == CreateAnyone }
