package postgres

import "fencepost/relay/store/commit"

// request is one call that waits for the writer; what an erasure selects is named by its
// position.
type request = commit.Request[uint64]
