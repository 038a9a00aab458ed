package wire

import (
	"crypto/sha256"
	"math"

	"github.com/nbd-wtf/go-nostr"
)

// Verify checks id and signature (NIP-01). The error is a Reason with the
// prefix "invalid". It takes about 60-150 us of CPU.
func (e *Event) Verify() error {
	// The C library's binding writes beyond its buffers when these are longer.
	if !isHex(e.ID, 64) || !isHex(e.PubKey, 64) || !isHex(e.Sig, 128) {
		return Because(Invalid, "id, pubkey or sig is not lower-case hex of the right length")
	}
	if !e.idMatches() {
		return Because(Invalid, "event id does not match")
	}
	if ok, err := e.CheckSignature(); err != nil || !ok {
		return Because(Invalid, "bad signature")
	}
	return nil
}

// idMatches reports whether the id is the SHA-256 of the canonical form.
func (e *Event) idMatches() bool {
	var space [1024]byte // most events fit
	sum := sha256.Sum256(appendCanonical(space[:0], &e.Event))
	for i, b := range sum {
		if e.ID[2*i] != hexDigits[b>>4] || e.ID[2*i+1] != hexDigits[b&15] {
			return false
		}
	}
	return true
}

// Validate refuses what is well-formed JSON and yet means nothing: an expiration
// tag (NIP-40) whose value is not plain decimal digits. The error is a Reason
// with the prefix "invalid".
func (e *Event) Validate() error {
	if _, ok := expiration(e.Tags); !ok {
		return Because(Invalid, "expiration is not a plain number of seconds")
	}
	return nil
}

// expiration returns the time of the first expiration tag (NIP-40), 0 when there
// is none. A time of 0 becomes 1, since both are long past; one beyond 63 bits
// becomes the largest, which never comes. Not ok means that the value is not
// plain decimal digits; then the event has no expiration.
func expiration(tags nostr.Tags) (at int64, ok bool) {
	for _, t := range tags {
		if len(t) > 0 && t[0] == "expiration" {
			if len(t) == 1 {
				return 0, false
			}
			return parseExpiration(t[1])
		}
	}
	return 0, true
}

func parseExpiration(value string) (at int64, ok bool) {
	if value == "" {
		return 0, false
	}
	for i := 0; i < len(value); i++ {
		if !isDigit(value[i]) {
			return 0, false
		}
		digit := int64(value[i] - '0')
		if at > (math.MaxInt64-digit)/10 {
			at = math.MaxInt64 // stays there, since the rest must be digits too
			continue
		}
		at = at*10 + digit
	}
	return max(at, 1), true
}
