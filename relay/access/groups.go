package access

import (
	"context"
	"fmt"

	"fencepost/lifecycle"
	"fencepost/relay/access/control"
	"fencepost/relay/access/group"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Groups are the groups of NIP-29, implemented by *group.Book. Nothing blocks but
// Plan.
type Groups interface {
	GroupWriting
	GroupReading
}

// GroupWriting is what becomes of events and control rows of groups.
type GroupWriting interface {
	// Names reports whether Plan has to be asked about ev.
	Names(ev *wire.Event) bool
	// Terms returns the scopes of the groups that a decision about ev rests on, with
	// their present epochs. It is called for every event, before anything else.
	Terms(ev *wire.Event) []store.Term
	// Plan decides about a verified event that Names has accepted and whose author
	// the relay has nothing against, and says what is committed with it.
	Plan(ctx context.Context, keys []string, ev *wire.Event, operator bool) (group.Effect, error)
	// Apply takes in a control row: the state first, then the epochs of those of
	// scopes that are groups' move to at. An error changes nothing.
	Apply(at store.Position, row control.Row, scopes []string) (group.Change, error)
}

// GroupReading is who may read what groups hold.
type GroupReading interface {
	// MayRead refuses filters that ask for nothing but what is closed to keys. One
	// without a condition on h and d tags is closed to nobody.
	MayRead(keys []string, filters []*wire.Filter) error
	// LostIn refuses standing filters of which nothing is left to keys after a change
	// in that group, "" for none. It refuses whatever MayRead refuses.
	LostIn(group string, keys []string, filters []*wire.Filter) error
	// Sight returns who may see ev, which reads the state when it is asked, and the
	// scopes that its answers rest on; both are nil when no group can concern ev.
	Sight(ev *wire.Event) (scopes []*lifecycle.Scope, may func(keys []string) bool)
	// Hidden reports whether there is a group of which something is not for all.
	Hidden() bool
}

// noGroups is a relay without groups: nothing concerns one.
type noGroups struct{}

func (noGroups) Names(*wire.Event) bool { return false }

func (noGroups) Terms(*wire.Event) []store.Term { return nil }

func (noGroups) Plan(context.Context, []string, *wire.Event, bool) (group.Effect, error) {
	return group.Effect{}, nil
}

// Apply refuses rows of groups: what they closed would be open.
func (noGroups) Apply(_ store.Position, row control.Row, _ []string) (group.Change, error) {
	if isGroup(&row) {
		return group.Change{}, fmt.Errorf("%w: there are no groups here", ErrRow)
	}
	return group.Change{}, nil
}

func (noGroups) MayRead([]string, []*wire.Filter) error { return nil }

func (noGroups) LostIn(string, []string, []*wire.Filter) error { return nil }

func (noGroups) Sight(*wire.Event) ([]*lifecycle.Scope, func([]string) bool) { return nil, nil }

func (noGroups) Hidden() bool { return false }
