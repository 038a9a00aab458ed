package group

import (
	"context"
	"fmt"
	"slices"

	"fencepost/relay/wire"
)

// post decides about an event that is no request.
func (r *request) post(ctx context.Context) error {
	ids := named(r.ev)
	if len(ids) > maxNames {
		return invalid("an event has at most 16 different h tags")
	}
	if !r.book.known(ids) {
		return nil
	}
	for _, id := range ids {
		if r.group = r.book.find(id); r.group != nil && r.meet() {
			return errNoMember() // whatever else is wrong with it
		}
	}
	if len(ids) > 1 {
		return invalid("an event is published in one group")
	}
	if r.id = ids[0]; r.as.deleted {
		return errDeleted()
	}
	if err := r.late(); err != nil {
		return err
	}
	switch {
	case r.as.meta.restricted && !r.as.member:
		return errNoMember()
	case !r.as.meta.supports(r.ev.Kind):
		return restricted("this group does not take events of this kind")
	default:
		return r.timeline(ctx)
	}
}

// late refuses an event that is older than the rules allow.
func (r *request) late() error {
	if age := int64(r.rules.MaxAge.Seconds()); age > 0 && int64(r.ev.CreatedAt) < r.now-age {
		return invalid("created_at is too old for an event that is published in a group")
	}
	return nil
}

// timeline checks the references to earlier events of the group (NIP-29,
// Timeline references). Of somebody who may not read the group only their form.
func (r *request) timeline(ctx context.Context) error {
	var prefixes []string
	for _, t := range r.ev.Tags {
		if len(t) == 0 || t[0] != "previous" {
			continue
		}
		for _, p := range t[1:] {
			if !isHex(p, 8) {
				return invalid("a timeline reference is the first 8 characters of an event id")
			}
			if slices.Contains(prefixes, p) {
				continue
			}
			if prefixes = append(prefixes, p); len(prefixes) > maxPrevious {
				return invalid("an event has at most 64 timeline references")
			}
		}
	}
	if r.group != nil && !r.as.member && (r.as.meta.private || r.as.meta.hidden) {
		return nil // or the answer would tell what is in the group
	}
	for _, p := range prefixes {
		events, err := r.book.opt.Prefixed(ctx, p)
		if err != nil {
			return fmt.Errorf("find timeline references: %w", err)
		}
		if !slices.ContainsFunc(events, func(ev *wire.Event) bool { return hasH(ev, r.id) }) {
			return invalid("a timeline reference names no event of this group")
		}
	}
	return nil
}
