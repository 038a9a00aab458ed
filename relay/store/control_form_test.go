package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
)

func TestAControlRowIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []store.Control{
		{},
		{Data: []byte("data")},
		{Scopes: []string{"", "a", strings.Repeat("x", 300)}, Data: []byte{0, 1, 255}},
	} {
		body := c.AppendTo([]byte("before"))[len("before"):]
		got, ok := store.ParseControl(body)
		require.True(t, ok)
		require.Equal(t, &c, got)
		for n := range len(body) - len(c.Data) {
			_, ok := store.ParseControl(body[:n])
			require.False(t, ok, n)
		}
	}
	require.Equal(t, []byte{0, 0, 0, 1, 0, 0, 0, 2, 'a', 'b', 'c'}, (&store.Control{Scopes: []string{"ab"}, Data: []byte("c")}).AppendTo(nil),
		"databases have rows of this form")
}

// FuzzParseControl: what can be read is written again as it was.
func FuzzParseControl(f *testing.F) {
	f.Add((&store.Control{Scopes: []string{"a", ""}, Data: []byte("x")}).AppendTo(nil))
	f.Add([]byte{0, 0, 0, 1, 255, 255, 255, 255})
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, body []byte) {
		if c, ok := store.ParseControl(body); ok {
			require.Equal(t, string(body), string(c.AppendTo(nil)))
		}
	})
}
