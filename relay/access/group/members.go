package group

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/access/control"
)

// target is a member, or somebody who becomes one.
type target struct {
	key   string
	roles []string
}

// targets returns the keys of the p tags, with the role names behind them.
func (r *request) targets() (out []target, err error) {
	seen := map[string]struct{}{}
	for _, t := range r.ev.Tags {
		if len(t) == 0 || t[0] != "p" {
			continue
		}
		if len(t) < 2 || !isHex(t[1], 64) || !nostr.IsValidPublicKey(t[1]) {
			return nil, invalid("a p tag holds a public key, 64 characters of lower-case hex")
		}
		if _, again := seen[t[1]]; again {
			return nil, invalid("a key is named twice")
		}
		seen[t[1]] = struct{}{}
		roles, err := parseRoles(t[2:])
		if err != nil {
			return nil, err
		}
		if out = append(out, target{t[1], roles}); len(out) > maxTargets {
			return nil, invalid("a request names at most 100 keys")
		}
	}
	if len(out) == 0 {
		return nil, invalid("the request names nobody in a p tag")
	}
	return out, nil
}

// putUsers plans kind 9000. Who is a member with these roles already is passed over.
func (r *request) putUsers(context.Context) (Effect, error) {
	targets, err := r.targets()
	if err != nil {
		return Effect{}, err
	}
	d, staff, changed, added := r.draft(), r.group.staff(), false, 0
	for _, t := range targets {
		old := r.group.standing(t.key)
		if old.member && sameRoles(old.roles, t.roles) {
			continue
		}
		if !old.member {
			added++
		}
		var scopes []string
		if !sameRoles(old.roles, t.roles) {
			scopes = []string{scopeOf(r.id)}
		}
		next := rankOf(t.roles)
		d.row(control.Row{
			Type: control.GroupPut, Group: r.id, Key: t.key, Roles: t.roles, Stamp: r.stampOf(max(old.rank, next)),
		}, scopes...)
		if changed = changed || max(old.rank, next) > plain; next > plain {
			staff[t.key] = t.roles
		} else {
			delete(staff, t.key)
		}
	}
	if err := r.mayPut(d, staff, added); err != nil {
		return Effect{}, err
	}
	if changed {
		d.staff(r.stamp(), r.id, staff)
	}
	return d.done()
}

func (r *request) mayPut(d *draft, staff map[string][]string, added int) error {
	switch {
	case len(d.effect.Controls) == 0 && d.err == nil:
		return duplicate("they are members with these roles already")
	case added > 0 && r.rules.MaxMembers > 0 && r.group.size()+added > r.rules.MaxMembers:
		return restricted("the group has as many members as it takes")
	case len(staff) > maxPrivileged:
		return restricted("a group has at most 200 admins and moderators")
	default:
		return r.keepsAdmin(staff)
	}
}

// keepsAdmin refuses a change that leaves the group without an admin, unless the
// operator makes it. A group that has none already stays as it is.
func (r *request) keepsAdmin(staff map[string][]string) error {
	if r.operator || hasAdmin(staff) || !hasAdmin(r.group.staff()) {
		return nil
	}
	return restricted("the last admin of a group stays, unless it leaves by itself")
}

func hasAdmin(staff map[string][]string) bool {
	for _, roles := range staff {
		if rankOf(roles) == admin {
			return true
		}
	}
	return false
}

// removeUsers plans kind 9001. Who is not a member is passed over; who is cannot join
// again until it is put (kind 9000).
func (r *request) removeUsers(context.Context) (Effect, error) {
	targets, err := r.targets()
	if err != nil {
		return Effect{}, err
	}
	d, staff, changed := r.draft(), r.group.staff(), false
	for _, t := range targets {
		old := r.group.standing(t.key)
		if !old.member {
			continue
		}
		if old.rank > plain && r.as.rank < admin {
			return Effect{}, restricted("a moderator removes plain members only")
		}
		d.remove(control.Row{Group: r.id, Key: t.key, Stamp: r.stampOf(old.rank), Bar: true}, old.rank)
		changed = changed || old.rank > plain
		delete(staff, t.key)
	}
	if len(d.effect.Controls) == 0 && d.err == nil {
		return Effect{}, duplicate("none of them is a member of this group")
	}
	if err := r.keepsAdmin(staff); err != nil {
		return Effect{}, err
	}
	if changed {
		d.staff(r.stamp(), r.id, staff)
	}
	return d.done()
}

// remove names the group only when more rests on the key than what is decided about
// itself: floods of strangers who come and go must not disturb the others.
func (d *draft) remove(row control.Row, was rank) {
	scope := memberScope(row.Group, row.Key)
	if was > plain {
		scope = scopeOf(row.Group)
	}
	row.Type = control.GroupRemoved
	d.row(row, scope)
}

// join plans kind 9021. A code is good for any number of members.
func (r *request) join(context.Context) (Effect, error) {
	if r.rules.MaxMembers > 0 && r.group.size() >= r.rules.MaxMembers {
		return Effect{}, restricted("the group has as many members as it takes")
	}
	d := r.draft()
	d.row(control.Row{Type: control.GroupPut, Group: r.id, Key: r.ev.PubKey, Stamp: r.now})
	d.event(kindPutUser, r.now, nostr.Tags{{"h", r.id}, {"p", r.ev.PubKey}})
	return d.done()
}

func (r *request) mayJoin() error {
	switch {
	case r.as.member:
		return duplicate("you are a member of this group already")
	case r.as.barred:
		return restricted("you were removed from this group; an admin can put you back")
	case !r.as.meta.closed:
		return nil
	}
	codes := values(r.ev, "code")
	valid, _ := r.group.invites(codes[:min(len(codes), maxTargets)])
	switch {
	case len(valid) > 0:
		return nil
	case len(codes) == 0:
		return restricted("this group is closed: joining needs an invite code, which its admins and moderators give out")
	default:
		return restricted("that invite code is not valid; ask an admin or a moderator of the group for another one")
	}
}

// leave plans kind 9022.
func (r *request) leave(context.Context) (Effect, error) {
	if !r.as.member {
		return Effect{}, duplicate("you are not a member of this group")
	}
	d, key, was := r.draft(), r.ev.PubKey, rankOf(r.as.roles)
	d.remove(control.Row{Group: r.id, Key: key, Stamp: r.stampOf(was)}, was)
	d.event(kindRemoveUser, r.now, nostr.Tags{{"h", r.id}, {"p", key}})
	if was > plain {
		staff := r.group.staff()
		delete(staff, key)
		d.staff(r.stamp(), r.id, staff)
	}
	return d.done()
}
