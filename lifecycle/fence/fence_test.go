package fence_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/fence"
)

const lease = 10 * time.Second

var begin = time.Unix(1_700_000_000, 0)

func claim(t *testing.T, s fence.State, expected, fresh string, now time.Time) fence.State {
	t.Helper()
	s, err := s.Set(fence.Change{Expected: fence.TokenOf(expected), New: fence.TokenOf(fresh), Active: true, Lease: lease}, now)
	require.NoError(t, err)
	return s
}

// P5: a claim whose owner is never heard of again is in the way for one lease.
func TestALostClaimDelaysASuccessorByOneLease(t *testing.T) {
	t.Parallel()
	s := claim(t, fence.State{}, "", "lost", begin)
	c := fence.Change{New: fence.TokenOf("next"), Active: true, Lease: lease}
	_, err := s.Set(c, begin.Add(lease-1))
	require.Equal(t, fence.Aborted, code(t, err, 1))
	s, err = s.Set(c, begin.Add(lease))
	require.NoError(t, err)
	require.Equal(t, uint64(2), s.Epoch)
}

// P3, P6: the token outlives its lease, and not its successor.
func TestATokenIsGoodUntilItIsReplaced(t *testing.T) {
	t.Parallel()
	s := claim(t, fence.State{}, "", "a", begin)
	s, number, err := s.Admit(fence.TokenOf("a"), begin.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, uint64(1), number)
	require.False(t, s.Free(begin.Add(time.Hour+lease-1)), "the admission renewed the lease (P4)")
	s = claim(t, s, "", "b", begin.Add(2*time.Hour))
	_, _, err = s.Admit(fence.TokenOf("a"), begin.Add(2*time.Hour))
	require.Equal(t, fence.FailedPrecondition, code(t, err, 2))
	_, number, err = s.Admit(fence.TokenOf("b"), begin.Add(2*time.Hour))
	require.NoError(t, err)
	require.Equal(t, uint64(2), number, "numbers go on over owners (P8)")
}

func TestUsedTokensAreRefusedAsFarAsTheyAreRemembered(t *testing.T) {
	t.Parallel()
	s := claim(t, fence.State{}, "", "0", begin)
	for i := range fence.Remembered + 5 {
		s = claim(t, s, fmt.Sprint(i), fmt.Sprint(i+1), begin)
	}
	require.Len(t, s.Used, fence.Remembered)
	last := fence.Remembered + 5
	for i := range fence.Remembered + 1 {
		c := fence.Change{Expected: fence.TokenOf("x"), New: fence.TokenOf(fmt.Sprint(last - i)), Active: true, Lease: lease}
		_, err := s.Set(c, begin.Add(time.Hour))
		require.Equal(t, fence.Aborted, code(t, err, s.Epoch))
	}
	require.LessOrEqual(t, len(s.Append(nil)), 400)
}

func TestStatesAreValues(t *testing.T) {
	t.Parallel()
	one := claim(t, claim(t, fence.State{}, "", "a", begin), "a", "b", begin)
	two := claim(t, one, "b", "c", begin)
	three := claim(t, one, "b", "d", begin)
	require.Equal(t, two.Used, three.Used)
	require.Len(t, one.Used, 1)
}

func TestNamesOfStreams(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("ab", 32)
	for name, ok := range map[string]bool{
		"a": true, "A-z_0.9": true, strings.Repeat("x", fence.MaxName): true, "...": true,
		"": false, ".": false, "..": false, strings.Repeat("x", fence.MaxName+1): false, "a/b": false, "a b": false, "ä": false, "a\x00": false,
	} {
		require.Equal(t, ok, fence.ValidName(name), "%q", name)
		require.Equal(t, ok, fence.Stream{Owner: key, Name: name}.Validate() == nil, "%q", name)
	}
	for _, owner := range []string{"", key[1:], key + "ab", strings.Repeat("z", 64)} {
		require.Error(t, fence.Stream{Owner: owner, Name: "a"}.Validate())
	}
}

func FuzzDecode(f *testing.F) {
	s := fence.State{Token: fence.TokenOf("a"), Active: true, Lease: lease, Until: begin, Epoch: 1, Next: 1}
	f.Add([]byte{})
	s.Cursor = []byte("cursor")
	f.Add(s.Append(nil))
	s.Used = []fence.Mark{{1}, {2}}
	f.Add(s.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := fence.Decode(b)
		if err != nil {
			require.ErrorIs(t, err, fence.ErrEncoding)
			return
		}
		require.True(t, bytes.Equal(b, s.Append(nil)), "one state has one encoding")
	})
}
