package embedded

import "fencepost/relay/store/commit"

// request is one call that waits for the writer; what an erasure selects is named by its
// index entries.
type request = commit.Request[entry]
