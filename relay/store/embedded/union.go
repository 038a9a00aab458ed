package embedded

import (
	"context"

	"fencepost/relay/wire"
)

// union is several walks in one order, each event once. Each walk counts an
// event against its own limit, also when another yields it too.
type union struct {
	walks []*walk
	sight sight
	skip  func(position uint64) bool // what is given out already; nil is nothing
}

func (u *union) skips(e *entry) bool { return u.skip != nil && u.skip(e.position) }

// sight says whether a match is visible, nil that every one is. It sets the
// match's event, where that can be read.
type sight func(ctx context.Context, found *item) (bool, error)

// see asks about what w holds.
func (u *union) see(ctx context.Context, w *walk) (bool, error) {
	if u.sight == nil {
		return true, nil
	}
	return u.sight(ctx, &w.held)
}

// state is what a step came to.
type state int

const (
	looked  state = iota // one entry is dealt with and gave nothing
	matched              // here is the next match
	ended                // there is none
)

// step does a bounded piece of work on the way to the next match. No walk looks
// beyond what another one holds: a filter that matches little does not keep back
// what the others found.
func (u *union) step(ctx context.Context) (found item, s state, err error) {
	w, err := u.newest(ctx)
	for ; err == nil && w != nil && !w.has; w, err = u.newest(ctx) {
		if err := w.look(ctx); err != nil || !w.has {
			return found, looked, err
		}
	}
	if err != nil || w == nil {
		return found, ended, err
	}
	visible, err := u.see(ctx, w)
	if err != nil {
		return found, ended, err
	}
	found = w.held
	for _, w := range u.walks {
		if w.has && w.held.same(&found.entry) {
			if found.event == nil {
				found.event = w.held.event
			}
			w.drop(visible)
		}
	}
	if !visible || u.skips(&found.entry) {
		return found, looked, nil
	}
	return found, matched, nil
}

// newest returns the walk whose front comes first, of several at one event one
// that has not looked at it yet; nil at the end.
func (u *union) newest(ctx context.Context) (newest *walk, err error) {
	var first *entry
	for _, w := range u.walks {
		if w.left == 0 {
			continue
		}
		front, err := w.front(ctx)
		if err != nil {
			return nil, err
		}
		if front == nil {
			continue
		}
		if first == nil || front.before(first) || !w.has && front.same(first) {
			newest, first = w, front
		}
	}
	return newest, nil
}

const (
	// maxLooks is how many entries are looked at, after the end, to find out whether
	// a limit hid a match.
	maxLooks = 512
	// maxHidden is how many matches that are not visible may come on top of that: the
	// hint must not tell of them, so they are passed over as if they were not there.
	maxHidden = 16 * maxLooks
)

// hint says, after the end, whether a limit hid a match. The walks take turns,
// so that one that matches little does not hide what another can tell.
func (u *union) hint(ctx context.Context) (wire.Hint, error) {
	open := append([]*walk(nil), u.walks...)
	hidden := 0
	for looks := 0; len(open) > 0; looks++ {
		i := looks % len(open)
		front, err := open[i].front(ctx)
		switch {
		case err != nil:
			return wire.HintUnknown, err
		case open[i].has:
			visible, err := u.see(ctx, open[i])
			skipped := open[i].left > 0 && u.skips(&open[i].held.entry)
			if err != nil || visible && !skipped {
				return wire.HintMore, err
			}
			open[i].drop(visible)
			hidden++
		case front == nil:
			open = append(open[:i], open[i+1:]...)
		case looks-2*hidden >= maxLooks || hidden >= maxHidden: // each took two turns
			return wire.HintUnknown, nil
		default:
			if err := open[i].look(ctx); err != nil {
				return wire.HintUnknown, err
			}
		}
	}
	return wire.HintFinish, nil
}
