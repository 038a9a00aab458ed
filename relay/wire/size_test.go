package wire_test

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func TestSizeCountsTextsThatAreNotInTheWireForm(t *testing.T) {
	t.Parallel()
	const wrapper = 128
	for name, c := range map[string]struct {
		content string
		tags    nostr.Tags
		times   int
	}{
		"plain":             {"text", nostr.Tags{{"t", "nostr"}, {"d", ""}}, 1},
		"empty":             {"", nil, 1},
		"escape in content": {"two\nlines", nostr.Tags{{"t", "nostr"}}, 2},
		"escape in a tag":   {"text", nostr.Tags{{"t", "nostr"}, {"alt", `"`}}, 2},
	} {
		made := signed(t, c.content, c.tags...)
		require.Equal(t, wrapper+2*len(made.Raw()), made.Size(), name+", not decoded")
		read, err := wire.DecodeEvent(made.Raw())
		require.NoError(t, err)
		require.Equal(t, wrapper+c.times*len(made.Raw()), read.Size(), name)

		message := `["EVENT",` + string(made.Raw()) + strings.Repeat(" ", 1000) + "]"
		m, err := wire.Decode([]byte(message))
		require.NoError(t, err)
		require.Equal(t, read.Size(), m.(*wire.EventMessage).Event.Size(), name+", in a message with much around it")
	}
}
