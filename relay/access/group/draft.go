package group

import (
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Effect is what is committed together with an event.
type Effect struct {
	Also     []*wire.Event // of the relay's key
	Controls []store.Control
	Ban      []string // ids of events to remove
	Erase    *store.Erasure
}

// draft is an Effect in the making. After the first error the rest does nothing.
type draft struct {
	opt    *Options
	effect Effect
	err    error
}

// row adds a control row that names scopes.
func (d *draft) row(row control.Row, scopes ...string) {
	if d.err != nil {
		return
	}
	data, err := control.Encode(row)
	if err != nil {
		d.err = fmt.Errorf("encode %s: %w", row.Type, err)
		return
	}
	d.effect.Controls = append(d.effect.Controls, store.Control{Scopes: scopes, Data: data})
}

// event adds an event of the relay's key.
func (d *draft) event(kind int, stamp int64, tags nostr.Tags) {
	if d.err != nil {
		return
	}
	ev, err := d.opt.sign(kind, stamp, tags)
	if err != nil {
		d.err = err
		return
	}
	d.effect.Also = append(d.effect.Also, ev)
}

// state adds the addressable event of kind about the group id.
func (d *draft) state(kind int, stamp int64, id string, tags nostr.Tags) {
	d.event(kind, stamp, stateTags(id, tags))
}

func stateTags(id string, tags nostr.Tags) nostr.Tags {
	return slices.Insert(slices.Clone(tags), 0, nostr.Tag{"d", id})
}

// staff adds 39001.
func (d *draft) staff(stamp int64, id string, staff map[string][]string) {
	d.state(kindAdmins, stamp, id, staffTags(staff))
}

// staffTags returns the tags of 39001, in the order of the keys.
func staffTags(staff map[string][]string) (tags nostr.Tags) {
	for key, roles := range staff {
		tags = append(tags, append(nostr.Tag{"p", key}, roles...))
	}
	slices.SortFunc(tags, func(a, b nostr.Tag) int { return slices.Compare(a, b) })
	return tags
}

func (d *draft) done() (Effect, error) {
	if d.err != nil {
		return Effect{}, d.err
	}
	return d.effect, nil
}

func (o *Options) sign(kind int, stamp int64, tags nostr.Tags) (*wire.Event, error) {
	ev := nostr.Event{PubKey: o.Self, CreatedAt: nostr.Timestamp(stamp), Kind: kind, Tags: tags}
	if err := o.Sign(&ev); err != nil {
		return nil, fmt.Errorf("sign kind %d: %w", kind, err)
	}
	return wire.NewEvent(ev), nil
}
