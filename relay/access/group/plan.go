package group

import (
	"context"
	"slices"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Names reports whether ev is the business of groups, so that Plan has to be
// asked: it is a request, the state of a group, or names a group that there is or
// was.
func (b *Book) Names(ev *wire.Event) bool {
	if b.rules.Load().on() && (isRequest(ev.Kind) || isState(ev.Kind)) {
		return true
	}
	ids := named(ev)
	return b.known(ids) || len(ids) > maxNames && b.active()
}

// active reports whether groups are on or were.
func (b *Book) active() bool { return b.Hidden() || b.rules.Load().on() }

// known reports whether one of the ids is that of a group, a deleted one too.
func (b *Book) known(ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return b.find(id) != nil })
}

// Terms returns what a decision about ev rests on. It is asked for every event,
// before Names and Plan: an h tag of no group can become that of one, also when groups
// are off, since they may be on before the decision is made. The
// placement of a group rests on all groups between its new parent and the root,
// so that of two edits that would close a cycle one is decided again.
func (b *Book) Terms(ev *wire.Event) []store.Term {
	ids := named(ev)
	if len(ids) == 0 {
		return nil
	}
	ids = ids[:min(len(ids), maxNames+1)]
	terms := b.terms(nil, ids, ev.PubKey)
	switch ev.Kind {
	case kindPutUser:
		// Who is a member already is passed over, unless it leaves meanwhile.
		return b.terms(terms, ids[:1], targetsOf(ev)...)
	case kindCreateGroup, kindEditMetadata:
		if parent, ok := ev.Tag("parent"); ok && validID(parent) {
			// Whether the author may know of the parent is its standing there.
			return b.climb(b.terms(terms, []string{parent}, ev.PubKey), parent)
		}
	case kindDeleteGroup:
		// After the epoch of the group: a child that comes later has moved that.
		return b.terms(terms, b.under(ids[0]))
	}
	return terms
}

// terms adds the groups, and the keys as members of each. Of one that there is not
// (any more) nobody is a member: until there is, a decision rests on it alone.
func (b *Book) terms(terms []store.Term, ids []string, keys ...string) []store.Term {
	for _, id := range ids {
		g := b.find(id)
		if g == nil {
			terms = with(terms, store.Term{Scope: scopeOf(id)})
			continue
		}
		terms = g.terms(terms, keys)
	}
	return terms
}

func (g *group) terms(terms []store.Term, keys []string) []store.Term {
	g.mu.RLock()
	defer g.mu.RUnlock()
	terms = with(terms, store.Term{Scope: scopeOf(g.id), Epoch: g.epoch})
	if g.deleted {
		return terms
	}
	for _, key := range keys {
		terms = with(terms, store.Term{Scope: memberScope(g.id, key), Epoch: g.removed[key].epoch})
	}
	return terms
}

// with adds a term, unless it is there: the older epoch counts.
func with(terms []store.Term, t store.Term) []store.Term {
	if slices.ContainsFunc(terms, func(o store.Term) bool { return o.Scope == t.Scope }) {
		return terms
	}
	return append(terms, t)
}

// targetsOf returns the keys that a request names, as far as they are well formed.
func targetsOf(ev *wire.Event) (keys []string) {
	for _, key := range values(ev, "p") {
		if len(keys) < maxTargets && isHex(key, 64) {
			keys = append(keys, key)
		}
	}
	return keys
}

// climb adds the groups from id to its root. The epoch of each is read before
// its parent: a chain that has changed since is then one whose term is old.
func (b *Book) climb(terms []store.Term, id string) []store.Term {
	for n := 0; n <= maxDepth; n++ {
		terms = b.terms(terms, []string{id})
		above := b.above(id)
		if above == "" {
			break
		}
		id = above
	}
	return terms
}

// request is one event about which Plan decides.
type request struct {
	book     *Book
	rules    *Rules
	ev       *wire.Event
	operator bool
	now      int64 // Unix seconds

	// Set once the group is known.
	id    string
	group *group
	as    standing // of the author
}

// Plan decides whether ev may be published, as far as groups go, and what follows
// from it. Who may do what is asked of its author, not of keys: the signature is
// the proof. operator says that the author is the relay's operator; the relay's
// own key is one always. The caller has asked for Terms before. It blocks while
// Options.Find and Options.Prefixed do, without a lock. A refusal is a
// wire.Reason; any other error is an internal failure.
func (b *Book) Plan(ctx context.Context, _ []string, ev *wire.Event, operator bool) (Effect, error) {
	r := &request{
		book:     b,
		rules:    b.rules.Load(),
		ev:       ev,
		operator: operator || ev.PubKey == b.opt.Self,
		now:      b.opt.Now().Unix(),
	}
	switch {
	case !r.rules.on():
		return Effect{}, r.off()
	case isState(ev.Kind):
		if ev.PubKey != b.opt.Self {
			return Effect{}, restricted("only this relay tells of the state of its groups")
		}
		return Effect{}, nil
	case isRequest(ev.Kind):
		return r.plan(ctx)
	default:
		return Effect{}, r.post(ctx)
	}
}

// off refuses what concerns groups that are left from when they were on. What
// they hid stays hidden.
func (r *request) off() error {
	ids := named(r.ev)
	if r.book.known(ids) || len(ids) > maxNames && r.book.Hidden() {
		return restricted("groups are turned off on this relay")
	}
	return nil
}

// action is what a kind of request needs and does.
type action struct {
	least rank
	plan  func(*request, context.Context) (Effect, error)
}

// actionOf returns the action of a kind that needs a group; false when the kind
// means nothing here.
func actionOf(kind int) (action, bool) {
	switch kind {
	case kindPutUser:
		return action{admin, (*request).putUsers}, true
	case kindRemoveUser:
		return action{moderator, (*request).removeUsers}, true
	case kindEditMetadata:
		return action{admin, (*request).editMetadata}, true
	case kindDeleteEvent:
		return action{moderator, (*request).deleteEvents}, true
	case kindDeleteGroup:
		return action{admin, (*request).deleteGroup}, true
	case kindCreateInvite:
		return action{moderator, (*request).invite}, true
	case kindPin:
		return action{moderator, (*request).pin}, true
	case kindJoin:
		return action{outsider, (*request).join}, true
	case kindLeave:
		return action{outsider, (*request).leave}, true
	default:
		return action{}, false
	}
}

func (r *request) plan(ctx context.Context) (Effect, error) {
	act, ok := actionOf(r.ev.Kind)
	if !ok && r.ev.Kind != kindCreateGroup {
		return Effect{}, unsupported("this kind of moderation is not offered")
	}
	if err := r.identify(); err != nil {
		return Effect{}, err
	}
	if r.ev.Kind == kindCreateGroup {
		return r.create(ctx)
	}
	if r.group == nil || r.meet() && !r.admits() {
		return Effect{}, errUnknown() // before anything that tells one from the other
	}
	if r.as.deleted {
		return Effect{}, errDeleted()
	}
	if err := r.late(); err != nil {
		return Effect{}, err
	}
	if err := r.allowed(act.least); err != nil {
		return Effect{}, err
	}
	if r.ev.Kind == kindJoin {
		if err := r.mayJoin(); err != nil {
			return Effect{}, err
		}
	}
	if err := r.timeline(ctx); err != nil {
		return Effect{}, err
	}
	return act.plan(r, ctx)
}

// identify finds the one group that a request is about.
func (r *request) identify() error {
	ids := values(r.ev, "h")
	if len(ids) != 1 {
		return invalid("a request names one group in an h tag")
	}
	if !validID(ids[0]) {
		return invalid("a group id has 1 to 64 characters of a-z, A-Z, 0-9, _, - and .")
	}
	r.id, r.group = ids[0], r.book.find(ids[0])
	return nil
}

// meet looks at the group as the author finds it, and reports whether it must not
// learn that there is the group, or was.
func (r *request) meet() (secret bool) {
	r.as = r.group.standing(r.ev.PubKey)
	if r.operator {
		r.as.rank = operator
	}
	return r.as.secret()
}

// admits reports whether the event is a request to join that a group grants to
// whoever knows of it, or has a code.
func (r *request) admits() bool {
	return r.ev.Kind == kindJoin && !r.as.deleted && r.mayJoin() == nil
}

// allowed refuses an author who has a lower rank than least.
func (r *request) allowed(least rank) error {
	switch {
	case r.as.rank >= least:
		return nil
	case least == admin:
		return restricted("only an admin of this group may do that")
	default:
		return restricted("only an admin or a moderator of this group may do that")
	}
}

// stamp returns the created_at of what the relay tells of the group's state, which
// replaces what it told before.
func (r *request) stamp() int64 { return max(r.now, r.as.stamp+1) }

// stampOf returns the stamp of a change of who is a member: only that of one with
// a privileged role is told in 39001. The others must not push the state of a group
// into the future.
func (r *request) stampOf(is rank) int64 {
	if is > plain {
		return r.stamp()
	}
	return r.now
}

func (r *request) draft() *draft { return &draft{opt: &r.book.opt} }
