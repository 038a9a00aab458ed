package wire

import "github.com/nbd-wtf/go-nostr"

// Verify checks id and signature (NIP-01). The error is a Reason with the
// prefix "invalid". It takes about 60-150 us of CPU.
func (e *Event) Verify() error { return Because(Failed, "not built") }

// expiration returns the NIP-40 time of tags, 0 when there is none.
func expiration(tags nostr.Tags) int64 { return 0 }
