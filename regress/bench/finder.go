package bench

import "fencepost/relay/wire"

// finder finds the subscriptions that an event has to reach, by the rarest thing
// that each asks for.
type finder struct {
	by       map[string][]subscription // what is asked for -> who asks
	anything []subscription            // those that name no id, author or tag
}

// subscription is one of a subscriber's.
type subscription struct {
	subscriber *subscriber
	number     int
}

func newFinder(subscribers []*subscriber) *finder {
	f := &finder{by: make(map[string][]subscription)}
	for _, sub := range subscribers {
		for n, filter := range sub.filters {
			f.add(subscription{sub, n}, filter)
		}
	}
	return f
}

func (f *finder) add(s subscription, filter *wire.Filter) {
	note := func(what string, values []string) {
		for _, v := range values {
			f.by[what+v] = append(f.by[what+v], s)
		}
	}
	switch {
	case filter.IDs != nil:
		note("id ", filter.IDs)
	case filter.Authors != nil:
		note("author ", filter.Authors)
	case len(filter.Tags) > 0:
		for name, values := range filter.Tags {
			note("#"+name+" ", values)
			return // one of the names is enough to find it
		}
	default:
		f.anything = append(f.anything, s)
	}
}

// find returns each subscription that matches the event, once.
func (f *finder) find(ev *wire.Event) (out []subscription) {
	seen := make(map[subscription]bool)
	look := func(list []subscription) {
		for _, s := range list {
			if !seen[s] && s.subscriber.filters[s.number].Matches(ev) {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	look(f.anything)
	look(f.by["id "+ev.ID])
	look(f.by["author "+ev.PubKey])
	for _, tag := range ev.Tags {
		if len(tag) > 1 {
			look(f.by["#"+tag[0]+" "+tag[1]])
		}
	}
	return out
}
