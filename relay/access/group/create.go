package group

import (
	"context"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/access/control"
)

// create plans kind 9007. The fields of kind 9002 may come along.
func (r *request) create(ctx context.Context) (Effect, error) {
	if err := r.late(); err != nil {
		return Effect{}, err
	}
	if err := r.mayCreate(); err != nil {
		return Effect{}, err
	}
	e, err := parseEdit(r.ev.Tags)
	if err != nil {
		return Effect{}, err
	}
	m, err := e.apply(&meta{})
	if err != nil {
		return Effect{}, err
	}
	if err := r.adopt(e, &meta{}, m); err != nil {
		return Effect{}, err
	}
	if err := r.timeline(ctx); err != nil {
		return Effect{}, err
	}

	d, stamp, creator := r.draft(), r.stamp(), r.ev.PubKey
	d.row(control.Row{
		Type: control.GroupCreated, Group: r.id, Key: creator, Tags: m.tags(), Stamp: stamp,
	}, scopesOf(r.id, m.parent)...)
	d.event(kindPutUser, stamp, nostr.Tags{{"h", r.id}, {"p", creator, roleAdmin}})
	d.state(kindMetadata, stamp, r.id, m.tags())
	d.staff(stamp, r.id, map[string][]string{creator: {roleAdmin}})
	d.state(kindRoles, stamp, r.id, roleTags())
	return d.done()
}

func (r *request) mayCreate() error {
	switch {
	case r.group != nil && r.meet():
		return duplicate("this id was given to a group; choose another one")
	case r.group != nil && r.as.deleted:
		return blocked("a group with this id was deleted; choose another one")
	case r.group != nil:
		return duplicate("there is a group with this id; choose another one")
	case r.rules.Create == CreateOperator && !r.operator:
		return restricted("only the operator creates groups on this relay")
	case !r.operator && r.rules.MaxPerKey > 0 && r.book.createdBy(r.ev.PubKey) >= r.rules.MaxPerKey:
		return rateLimited("you have created as many groups as one key may; delete one first")
	case r.rules.MaxGroups > 0 && r.book.count() >= r.rules.MaxGroups:
		return rateLimited("this relay has as many groups as it takes")
	default:
		return nil
	}
}

// scopesOf names a group and the one that it is placed under, if any.
func scopesOf(id, parent string) []string {
	if parent == "" {
		return []string{scopeOf(id)}
	}
	return []string{scopeOf(id), scopeOf(parent)}
}

// editMetadata plans kind 9002.
func (r *request) editMetadata(context.Context) (Effect, error) {
	e, err := parseEdit(r.ev.Tags)
	if err != nil {
		return Effect{}, err
	}
	if e.empty() {
		return Effect{}, invalid("the request has no field of a group's metadata")
	}
	old := r.as.meta
	m, err := e.apply(old)
	if err != nil {
		return Effect{}, err
	}
	if err := r.adopt(e, old, m); err != nil {
		return Effect{}, err
	}
	switch {
	case m.equal(old):
		return Effect{}, duplicate("the metadata of the group says that already")
	case m.turns(old) && r.now < r.as.turned+turnEvery:
		// All subscriptions are looked at then.
		return Effect{}, rateLimited("whether a group is private or hidden changes once in 10 seconds at most; try again")
	}
	entered := m.parent
	if entered == old.parent {
		entered = ""
	}
	d, stamp := r.draft(), r.stamp()
	d.row(control.Row{Type: control.GroupEdited, Group: r.id, Tags: m.tags(), Stamp: stamp}, scopesOf(r.id, entered)...)
	d.state(kindMetadata, stamp, r.id, m.tags())
	return d.done()
}

// adopt sets the parent of m as e asks for it. A parent that the relay does not
// have, or that the author must not know of, makes the group a root.
func (r *request) adopt(e *edit, old, m *meta) error {
	want, asked := e.parent()
	if !asked {
		return nil
	}
	m.parent, m.attested = "", ""
	if want == "" {
		return nil
	}
	if want == r.id {
		return invalid("a group cannot be its own parent")
	}
	parent := r.book.find(want)
	if parent == nil {
		return nil
	}
	as := parent.standing(r.ev.PubKey)
	if r.operator {
		as.rank = operator
	}
	if as.deleted || as.secret() && old.parent != want {
		return nil
	}
	if err := r.fits(want, old, &as); err != nil {
		return err
	}
	m.parent, m.attested = want, r.ev.PubKey
	if old.parent == want && as.rank < admin {
		m.attested = old.attested
	}
	return nil
}

// fits refuses a parent that would close a cycle, or that does not want the group.
func (r *request) fits(parent string, old *meta, as *standing) error {
	chain := r.book.chain(parent)
	switch {
	case slices.Contains(chain, r.id):
		return invalid("this parent would close a cycle")
	case len(chain) > maxDepth:
		return invalid("groups are nested too deep")
	case old.parent == parent:
		return nil
	case len(r.book.under(parent)) >= maxChildren:
		return restricted("the parent group has as many children as it takes")
	case as.meta.lists(r.id):
		return nil
	case as.meta.closedChildren:
		return restricted("the parent group does not list this one among its children")
	case as.rank < admin:
		return restricted("only an admin of the parent group may place a group under it that it does not list")
	default:
		return nil
	}
}

// deleteGroup plans kind 9008. The group's children become roots.
func (r *request) deleteGroup(context.Context) (Effect, error) {
	d := r.draft()
	for _, id := range r.book.under(r.id) {
		child := r.book.find(id).standing("")
		m := *child.meta
		m.parent, m.attested = "", ""
		stamp := max(r.now, child.stamp+1)
		d.row(control.Row{Type: control.GroupEdited, Group: id, Tags: m.tags(), Stamp: stamp}, scopeOf(id))
		d.state(kindMetadata, stamp, id, m.tags())
	}
	d.row(control.Row{Type: control.GroupDeleted, Group: r.id}, scopeOf(r.id))
	d.effect.Erase = r.erasure()
	return d.done()
}
