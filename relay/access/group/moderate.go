package group

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// own returns the stored event of that id when it is of this group.
func (r *request) own(ctx context.Context, id string) (*wire.Event, error) {
	if !isHex(id, 64) {
		return nil, invalid("an e tag holds an event id, 64 characters of lower-case hex")
	}
	ev, ok, err := r.book.opt.Find(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("find an event of a group: %w", err)
	}
	if !ok || !hasH(ev, r.id) {
		return nil, invalid("an e tag names no event of this group")
	}
	return ev, nil
}

// deleteEvents plans kind 9005. With an invitation its codes end, and what was
// pinned is so no longer.
func (r *request) deleteEvents(ctx context.Context) (Effect, error) {
	ids := values(r.ev, "e")
	if len(ids) == 0 || len(ids) > maxTargets {
		return Effect{}, invalid("a request names 1 to 100 events in e tags")
	}
	var codes []string
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return Effect{}, invalid("an event is named twice")
		}
		ev, err := r.own(ctx, id)
		if err != nil {
			return Effect{}, err
		}
		if ev.Kind == kindCreateInvite {
			codes = append(codes, values(ev, "code")...)
		}
	}
	d := r.draft()
	d.effect.Ban = ids
	slices.Sort(codes)
	if valid, _ := r.group.invites(slices.Compact(codes)); len(valid) > 0 {
		d.row(control.Row{Type: control.GroupInvite, Group: r.id, Codes: valid, Undo: true}, scopeOf(r.id))
	}
	if pins := r.group.pinned(); slices.ContainsFunc(pins, func(t nostr.Tag) bool { return unpins(t, ids) }) {
		left := slices.DeleteFunc(slices.Clone(pins), func(t nostr.Tag) bool { return unpins(t, ids) })
		d.pin(r.id, left, r.stamp())
	}
	return d.done()
}

// unpins reports whether the pin is one of the events.
func unpins(t nostr.Tag, ids []string) bool { return t[0] == "e" && slices.Contains(ids, t[1]) }

// pinned returns the pins, which the caller must not change.
func (g *group) pinned() nostr.Tags {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.pins
}

// pin replaces the pins. It names the group, so that of two lists made at once
// one is made again.
func (d *draft) pin(id string, pins nostr.Tags, stamp int64) {
	d.row(control.Row{Type: control.GroupPinned, Group: id, Tags: pins, Stamp: stamp}, scopeOf(id))
	d.state(kindPins, stamp, id, pins)
}

// pin plans kind 9010.
func (r *request) pin(ctx context.Context) (Effect, error) {
	var pins nostr.Tags
	for _, t := range r.ev.Tags {
		if len(t) == 0 || t[0] != "e" && t[0] != "a" {
			continue
		}
		if err := checkPin(t); err != nil {
			return Effect{}, err
		}
		if slices.ContainsFunc(pins, func(o nostr.Tag) bool { return o[0] == t[0] && o[1] == t[1] }) {
			return Effect{}, invalid("an event is pinned twice")
		}
		if pins = append(pins, t); r.rules.MaxPins > 0 && len(pins) > r.rules.MaxPins {
			return Effect{}, invalid("that is more than may be pinned in a group")
		}
	}
	if data, err := json.Marshal(pins); err != nil || len(data) > maxPinned {
		return Effect{}, invalid("that is more than may be pinned in a group")
	}
	for _, t := range pins {
		if t[0] == "a" {
			continue
		}
		if _, err := r.own(ctx, t[1]); err != nil {
			return Effect{}, err
		}
	}
	if sameTags(pins, r.group.pinned()) {
		return Effect{}, duplicate("that is pinned already, and nothing else")
	}
	d := r.draft()
	d.pin(r.id, pins, r.stamp())
	return d.done()
}

func checkPin(t nostr.Tag) error {
	if len(t) < 2 || len(t) > maxPinParts {
		return invalid("an e or a tag of a pin has 2 or 3 elements")
	}
	for _, s := range t {
		if len(s) > maxPinPart || !utf8.ValidString(s) {
			return invalid("an element of a pin is too long")
		}
	}
	return nil
}

// invite plans kind 9009.
func (r *request) invite(context.Context) (Effect, error) {
	codes := values(r.ev, "code")
	if len(codes) == 0 || len(codes) > maxTargets {
		return Effect{}, invalid("a request has 1 to 100 code tags")
	}
	for i, code := range codes {
		if code == "" || len(code) > maxCode || !utf8.ValidString(code) || slices.Contains(codes[:i], code) {
			return Effect{}, invalid("a code has 1 to 64 bytes and is given once")
		}
	}
	valid, all := r.group.invites(codes)
	switch {
	case len(valid) == len(codes):
		return Effect{}, duplicate("these codes are valid already")
	case all+len(codes)-len(valid) > maxCodes:
		return Effect{}, restricted("a group has at most 100 invite codes; delete an invitation first")
	}
	d := r.draft()
	d.row(control.Row{Type: control.GroupInvite, Group: r.id, Codes: codes})
	return d.done()
}

func (r *request) erasure() *store.Erasure {
	return &store.Erasure{Group: r.id, Self: r.book.opt.Self, Cause: store.CauseOperator}
}
