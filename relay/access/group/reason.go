package group

import "fencepost/relay/wire"

func invalid(text string) error    { return wire.Because(wire.Invalid, text) }
func restricted(text string) error { return wire.Because(wire.Restricted, text) }
func blocked(text string) error    { return wire.Because(wire.Blocked, text) }
func duplicate(text string) error  { return wire.Because(wire.Duplicate, text) }

// errUnknown is the answer about a group that does not exist, and about a hidden
// one to those who must not learn that it does.
func errUnknown() error { return invalid("there is no such group on this relay") }

// errNoMember is the only answer to posts in a hidden group of somebody who is no
// member.
func errNoMember() error { return restricted("only members may write in this group") }

func errDeleted() error { return blocked("this group was deleted") }

func unsupported(text string) error { return wire.Because(wire.Unsupported, text) }

func rateLimited(text string) error { return wire.Because(wire.RateLimited, text) }
