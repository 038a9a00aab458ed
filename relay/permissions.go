package relay

import (
	"context"
	"log/slog"
	"time"

	"fencepost/lifecycle"
	"fencepost/relay/access"
	"fencepost/relay/access/group"
	"fencepost/relay/config"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// permissions are who may do what.
type permissions struct {
	self   string          // the relay's public key, hex
	left   []store.Erasure // that the rows say, as of the start
	policy *access.Policy
	book   *group.Book
	cutter *access.Cutter
	groups *group.Scribe  // of lists of members
	scribe *access.Scribe // of the relay's own

	look     lookup
	progress progress // set before start
}

// newPermissions returns those that hold at the end of the log, as of now.
func newPermissions(ctx context.Context, c config.Config, key identity, s store.Store, log *slog.Logger) (*permissions, error) {
	look := lookup{store: s, self: key.public}
	book, err := group.New(group.Options{
		Self: key.public, Sign: key.sign, Now: time.Now, Find: look.find, Prefixed: look.prefixed, Rules: groupRules(c),
	})
	if err != nil {
		return nil, err
	}
	policy := access.New(access.Options{
		Self: key.public, Sign: key.sign, Rules: accessRules(c), Groups: book, Now: time.Now,
	})
	p := &permissions{self: key.public, book: book, policy: policy, look: look}
	p.groups, err = group.NewScribe(group.ScribeOptions{
		Book: book, Append: s.Append, Stored: p.told, Now: time.Now, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	p.scribe = access.NewScribe(access.ScribeOptions{Policy: policy, Append: s.Append, Stored: p.members, Logger: log})
	return p, p.rebuild(ctx, s)
}

// told returns what is stored of what the relay tells of a group, once the state is
// here that it was written from: a scribe that knows less would take it back.
func (p *permissions) told(ctx context.Context, kind int, id string) (ev *wire.Event, ok bool, err error) {
	if ev, ok, err = p.look.told(ctx, kind, id); err == nil {
		err = settled(ctx, p.look.store, p.progress)
	}
	return ev, ok, err
}

// members returns the stored list of the relay's members, in the same way.
func (p *permissions) members(ctx context.Context) (list *wire.Event, ok bool, err error) {
	if list, ok, err = p.look.members(ctx); err == nil {
		err = settled(ctx, p.look.store, p.progress)
	}
	return list, ok, err
}

// rebuild applies all control rows, and keeps what they say is to be erased.
func (p *permissions) rebuild(ctx context.Context, s store.Store) error {
	const page = 1000
	for after := store.Position(0); ; {
		rows, err := s.ReadControl(ctx, after, page)
		if err != nil || len(rows) == 0 {
			return err
		}
		for i := range rows {
			if _, err := p.policy.Apply(&rows[i]); err != nil {
				return err
			}
			x, ok, err := erasureOf(&rows[i], p.self)
			if err != nil {
				return err
			}
			if ok {
				p.left = append(p.left, x)
			}
		}
		after = rows[len(rows)-1].Position
	}
}

// cut makes p end what depends on permissions that are taken away.
func (p *permissions) cut(o access.CutterOptions) {
	o.Policy = p.policy
	p.cutter = access.NewCutter(o)
}

// reload makes the rules of c hold, for what is under way as well.
func (p *permissions) reload(c config.Config) {
	p.book.SetRules(groupRules(c))
	p.policy.SetRules(accessRules(c))
	p.cutter.Recheck()
}

// start runs what permissions have to do by themselves.
func (p *permissions) start(g *lifecycle.Group) {
	g.Go("scribe", p.scribe.Run)
	g.Go("groups' scribe", p.groups.Run)
}

func accessRules(c config.Config) access.Rules {
	return access.Rules{
		Require: access.Require(c.Auth.Require), Members: access.Members(c.Membership.Require),
		Operator: c.Relay.PubKey, URLs: c.Relay.URLs,
	}
}

func groupRules(c config.Config) group.Rules {
	return group.Rules{
		Create: group.Creation(c.Groups.Create), MaxAge: c.Groups.MaxAge,
		MaxGroups: c.Groups.Max, MaxPerKey: c.Groups.MaxPerKey, MaxMembers: c.Groups.MaxMembers, MaxPins: c.Groups.MaxPins,
	}
}
