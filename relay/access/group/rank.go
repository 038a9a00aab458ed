package group

import (
	"slices"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"
)

// The roles that mean something. Other names are kept and mean nothing.
const (
	roleAdmin     = "admin"
	roleModerator = "moderator"
)

// roleTags are the tags of kind 39003.
func roleTags() nostr.Tags {
	return nostr.Tags{
		{"role", roleAdmin, "may do everything in the group"},
		{"role", roleModerator, "may delete events, remove plain members, invite and pin"},
	}
}

// rank is what somebody may do in a group; a higher one may do what a lower may.
type rank uint8

const (
	outsider rank = iota
	plain
	moderator
	admin
	operator // the relay's; it need not be a member
)

// rankOf returns the rank of a member with these roles.
func rankOf(roles []string) rank {
	switch {
	case slices.Contains(roles, roleAdmin):
		return admin
	case slices.Contains(roles, roleModerator):
		return moderator
	default:
		return plain
	}
}

// sameRoles reports whether both lists hold the same, in the same order.
func sameRoles(a, b []string) bool { return slices.Equal(a, b) }

// parseRoles returns the role names of a p tag, each once.
func parseRoles(names []string) ([]string, error) {
	var roles []string
	for _, name := range names {
		if name == "" || slices.Contains(roles, name) {
			continue // clients leave places of a p tag empty
		}
		if len(name) > maxRole || !utf8.ValidString(name) {
			return nil, invalid("a role name has 1 to 64 bytes")
		}
		if roles = append(roles, name); len(roles) > maxRoles {
			return nil, invalid("a member has at most 8 roles")
		}
	}
	return roles, nil
}
