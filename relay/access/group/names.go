package group

import (
	"slices"
	"strings"

	"fencepost/relay/wire"
)

// scopePrefix makes the name of a scope of a group's id, and memberMark, which is
// in no id, of that of a group and a key.
const (
	scopePrefix = "g:"
	memberMark  = "/"
)

func scopeOf(id string) string { return scopePrefix + id }

// memberScope is named by what is about one plain member only.
func memberScope(id, key string) string { return scopePrefix + id + memberMark + key }

// parseScope returns the group of a scope, and its key, "" for the whole group.
func parseScope(name string) (id, key string, ok bool) {
	rest, ok := strings.CutPrefix(name, scopePrefix)
	id, key, _ = strings.Cut(rest, memberMark)
	return id, key, ok
}

// validID reports whether a group may have that id.
func validID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	for i := 0; i < len(id); i++ {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '_', c == '-', c == '.':
		default:
			return false
		}
	}
	return true
}

// named returns the different group ids in the event's h tags. Values that no
// group can have are left out. It allocates only when there are any.
func named(ev *wire.Event) (ids []string) {
	if !ev.HasTag('h') { // nearly every event, and its tags are elsewhere in memory
		return nil
	}
	var seen map[string]struct{} // ids, once they are too many to scan
	for _, t := range ev.Tags {
		if len(t) < 2 || t[0] != "h" || !validID(t[1]) {
			continue
		}
		if seen == nil && len(ids) > maxNames {
			seen = make(map[string]struct{})
			for _, id := range ids {
				seen[id] = struct{}{}
			}
		}
		if seen == nil && slices.Contains(ids, t[1]) {
			continue
		}
		if _, again := seen[t[1]]; again {
			continue
		}
		if seen != nil {
			seen[t[1]] = struct{}{}
		}
		ids = append(ids, t[1])
	}
	return ids
}

// values returns the first values of the event's tags of that name, "" for a tag
// without one.
func values(ev *wire.Event, name string) (out []string) {
	for _, t := range ev.Tags {
		if len(t) == 0 || t[0] != name {
			continue
		}
		if len(t) == 1 {
			out = append(out, "")
			continue
		}
		out = append(out, t[1])
	}
	return out
}

// hasH reports whether ev has an h tag of that value.
func hasH(ev *wire.Event, id string) bool {
	if !ev.HasTag('h') {
		return false
	}
	for _, t := range ev.Tags {
		if len(t) > 1 && t[0] == "h" && t[1] == id {
			return true
		}
	}
	return false
}

// isHex reports whether s is n digits of lower-case hex.
func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := 0; i < n; i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
