package access

import (
	"slices"
	"time"

	"fencepost/relay/wire"
)

// Require says what a client must authenticate for (NIP-42).
type Require string

const (
	RequireNeeded Require = "none"  // only for what cannot be judged without a key
	RequireWrite  Require = "write" // for publishing
	RequireAll    Require = "all"   // for everything
)

// Members says what only members of the relay may do (NIP-43).
type Members string

const (
	MembersNone  Members = "none"  // nothing; there is no membership
	MembersWrite Members = "write" // publish
	MembersAll   Members = "all"   // publish and read
)

// Rules are what the configuration says, as opposed to what control rows say.
// They hold for this process only.
type Rules struct {
	Require  Require // RequireNeeded when empty
	Members  Members // MembersNone when empty
	Operator string  // public key, hex, or "": may do everything but read what is private to others

	// URLs are the relay's public URLs, which a request to vanish names (NIP-62).
	URLs []string
	// MembershipWindow is how far created_at of a request to join or leave may be
	// off (NIP-43); 0 is ten minutes.
	MembershipWindow time.Duration
}

const defaultWindow = 10 * time.Minute

// normal returns r with its defaults, sharing nothing with it.
func (r Rules) normal() Rules {
	if r.Require == "" {
		r.Require = RequireNeeded
	}
	if r.Members == "" {
		r.Members = MembersNone
	}
	if r.MembershipWindow == 0 {
		r.MembershipWindow = defaultWindow
	}
	urls := make([]string, 0, len(r.URLs))
	for _, raw := range r.URLs {
		if u, ok := wire.NormalURL(raw); ok {
			urls = append(urls, u)
		}
	}
	r.URLs = urls
	return r
}

// isOurs reports whether raw is one of the relay's URLs.
func (r *Rules) isOurs(raw string) bool {
	u, ok := wire.NormalURL(raw)
	return ok && slices.Contains(r.URLs, u)
}
