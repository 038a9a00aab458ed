package mirror

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/fence"
	"fencepost/relay/store"
)

func TestCursorsReadBackAndFit(t *testing.T) {
	t.Parallel()
	const most = 1<<63 - 1
	c := Cursor{Version: cursorVersion, Top: most, Done: most, Until: most, Epoch: "0123456789abcdef-00000001", Sent: most, SentAt: most, Owed: most}
	require.Less(t, len(c.encode()), fence.MaxCursor)
	got, err := decodeCursor(c.encode())
	require.NoError(t, err)
	require.Equal(t, c, got)
	zero, err := decodeCursor(nil)
	require.NoError(t, err)
	require.Zero(t, zero)
	for _, bad := range []string{"x", `{"v":2}`, `{}`, `{"v":1,"top":"1"}`} {
		_, err := decodeCursor([]byte(bad))
		require.Error(t, err, bad)
	}
}

func FuzzDecodeCursor(f *testing.F) {
	f.Add(Cursor{Top: 1, Epoch: "x"}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeCursor(b)
		if err != nil || len(b) == 0 {
			return
		}
		again, err := decodeCursor(c.encode())
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}

// What a mirror still owes follows from where it was, never less.
func TestWhereTheLogIsFollowedFrom(t *testing.T) {
	t.Parallel()
	info := store.LogInfo{Epoch: "e", Floor: 10, Head: 20}
	const now, hour = 1_700_000_000, 3600
	for name, tc := range map[string]struct {
		spec         Spec
		before, want Cursor
	}{
		"first, from now":              {Spec{Start: Now}, Cursor{}, Cursor{Epoch: "e", Sent: 20, SentAt: now}},
		"first, everything":            {Spec{Start: All}, Cursor{}, Cursor{Epoch: "e", Sent: 20, SentAt: now, Owed: 1}},
		"first, since":                 {Spec{Start: Since, Since: 7}, Cursor{}, Cursor{Epoch: "e", Sent: 20, SentAt: now, Owed: 8}},
		"again, at the floor":          {Spec{Start: Now}, Cursor{Epoch: "e", Sent: 9, SentAt: 5}, Cursor{Epoch: "e", Sent: 9, SentAt: 5}},
		"again, at the head":           {Spec{Start: All}, Cursor{Epoch: "e", Sent: 20, SentAt: 5, Owed: 8}, Cursor{Epoch: "e", Sent: 20, SentAt: 5, Owed: 8}},
		"below the floor":              {Spec{Start: Now}, Cursor{Epoch: "e", Sent: 8, SentAt: now - hour}, Cursor{Epoch: "e", Sent: 20, SentAt: now, Owed: now - hour - 899}},
		"above the head, as restored":  {Spec{Start: Now}, Cursor{Epoch: "e", Sent: 21, SentAt: now - hour}, Cursor{Epoch: "e", Sent: 20, SentAt: now, Owed: now - hour - 899}},
		"another history":              {Spec{Start: Now}, Cursor{Epoch: "f", Sent: 15, SentAt: now - hour}, Cursor{Epoch: "e", Sent: 20, SentAt: now, Owed: now - hour - 899}},
		"another history, while owing": {Spec{Start: All}, Cursor{Epoch: "f", Sent: 15, SentAt: now - hour, Owed: 1}, Cursor{Epoch: "e", Sent: 20, SentAt: now, Owed: 1}},
	} {
		c := tc.before
		c.beginUp(&tc.spec, info, now)
		require.Equal(t, tc.want, c, name)
	}
}

func TestKnownIDsAreTheLast(t *testing.T) {
	t.Parallel()
	k := newKnown()
	id := func(n int) string {
		const digits = "0123456789abcdef"
		b := []byte("0000000000000000")
		for i := len(b) - 1; n > 0; i, n = i-1, n/16 {
			b[i] = digits[n%16]
		}
		return string(b)
	}
	for n := range 3 * knownIDs {
		k.add(id(n))
		require.True(t, k.has(id(n)))
		if n >= knownIDs {
			require.True(t, k.has(id(n-knownIDs+1)))
		}
	}
	require.False(t, k.has(id(0)), "there is a bound")
}
