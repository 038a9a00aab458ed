package access

import (
	"context"
	"slices"
	"sync/atomic"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Visible returns what the store asks about each event that filters match: whether
// the holder of keys may see it. It is nil when nothing that filters match can be
// hidden from them; events banned by id are gone from the store. failed is never
// nil; once the query is over it returns the first error of Outside, with which the
// answer is not complete, and store.ErrMoved when something was taken away meanwhile
// on which a yes rested: see tally. visible may block as long as Outside does, and
// may be called from any goroutine.
func (p *Policy) Visible(ctx context.Context, keys []string, filters []*wire.Filter) (visible func(*wire.Event) bool, failed func() error) {
	if !p.canHide(keys, filters) {
		return nil, func() error {
			switch {
			case p.canHide(keys, filters):
				return store.ErrMoved
			case !p.isFresh() && p.isSecret(filters):
				return reasonStale
			default:
				return nil
			}
		}
	}
	t := p.newTally(keys)
	var first atomic.Pointer[error]
	visible = func(ev *wire.Event) bool {
		scopes, inGroup := p.groups.Sight(ev)
		s := p.sight(ev, false, scopes, inGroup)
		may, err := s.Decide(ctx, keys)
		if err != nil {
			first.CompareAndSwap(nil, &err)
			return false
		}
		if may && len(scopes) > 0 {
			t.add(ev, scopes)
		}
		return may
	}
	failed = func() error {
		if err := first.Load(); err != nil {
			return *err
		}
		return t.check()
	}
	return visible, failed
}

// canHide reports whether something that filters match may be hidden from the
// holder of keys.
func (p *Policy) canHide(keys []string, filters []*wire.Filter) bool {
	if p.outside != nil || p.groups.Hidden() || !p.reads(keys) {
		return true
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.ContainsFunc(filters, func(f *wire.Filter) bool { return p.canHideOfLocked(keys, f) })
}

func (p *Policy) canHideOfLocked(keys []string, f *wire.Filter) bool {
	if f.Kinds == nil {
		return true // it can match a private kind
	}
	for _, kind := range f.Kinds {
		if isPrivate(kind) && !p.isOwnLocked(keys, f) || !p.state.takes(kind) {
			return true
		}
	}
	if len(p.state.vanished) == 0 {
		return false
	}
	return f.Authors == nil || slices.Contains(f.Kinds, store.KindGiftWrap) || slices.ContainsFunc(f.Authors, func(key string) bool {
		_, vanished := p.state.vanished[key]
		return vanished
	})
}

// isOwnLocked reports whether all that f matches is by or to the holder of keys.
func (p *Policy) isOwnLocked(keys []string, f *wire.Filter) bool {
	own := func(key string) bool { return slices.Contains(keys, key) && !p.isBannedLocked(key) }
	return f.Authors != nil && all(f.Authors, own) || f.Tags["p"] != nil && all(f.Tags["p"], own)
}

func all(list []string, ok func(string) bool) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !ok(s) })
}
