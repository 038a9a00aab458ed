package conformance_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// prefixes are the words that may begin a refusal (NIP-01, NIP-42 and the
// registry in NIP-01's list of standardised prefixes).
var prefixes = []string{
	"duplicate", "pow", "blocked", "rate-limited", "invalid", "restricted", "mute", "unsupported", "auth-required", "error",
}

// prefixOf returns the standard prefix of what a frame says, "" without one.
func prefixOf(f frame) string {
	for _, p := range prefixes {
		if text, ok := strings.CutPrefix(f.Text, p+": "); ok && text != "" {
			return p
		}
	}
	return ""
}

func requirePrefix(t *testing.T, f frame) {
	t.Helper()
	require.NotEmpty(t, prefixOf(f), "no standard prefix: %s", f.raw)
}
