package wire_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func TestHasTagTellsLettersApartAndWantsAValue(t *testing.T) {
	t.Parallel()
	many := nostr.Tags{{"h"}, {"hh", "x"}, {"", "x"}, {"(", "x"}, {"H", "x"}, {"a"}}
	for range 20 {
		many = append(many, nostr.Tag{"z", "x"})
	}
	for name, tags := range map[string]nostr.Tags{"few": many[:8], "many": many, "none": {}} {
		made := signed(t, "text", tags...)
		read, err := wire.DecodeEvent(made.Raw())
		require.NoError(t, err)
		for i := range len(letters) {
			letter, want := letters[i], false
			for _, tag := range tags {
				want = want || len(tag) > 1 && tag[0] == string(letter)
			}
			require.Equal(t, want, made.HasTag(letter), "%s %c", name, letter)
			require.Equal(t, want, read.HasTag(letter), "%s %c", name, letter)
		}
	}
}
