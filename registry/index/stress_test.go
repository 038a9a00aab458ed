package index_test

import (
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/registry/index"
)

const stressRounds = 3000

// manyKeys has enough entries for a Remove to come in the middle of Add.
func manyKeys() nostr.Filter {
	f := nostr.Filter{Tags: nostr.TagMap{"t": nil}}
	for i := range 20 {
		f.Tags["t"] = append(f.Tags["t"], strconv.Itoa(i))
	}
	return f
}

func together(fns ...func()) {
	var g sync.WaitGroup
	for _, fn := range fns {
		g.Go(fn)
	}
	g.Wait()
}

// The worker publishes and re-checks while the reader releases: whatever the
// order, nothing stays.
func TestPublishThenRecheckAgainstReleaseLeavesNothing(t *testing.T) {
	t.Parallel()
	x := index.New()
	c := newConn(t)
	for range stressRounds {
		h := reserve(t, c, "s", manyKeys())
		together(func() {
			x.Add(h)
			if !h.Current() {
				x.Remove(h)
			}
		}, func() {
			x.Remove(c.Release("s"))
		}, func() {
			x.Candidates(nil, event("", "", 1, nostr.Tag{"t", "1"}, nostr.Tag{"t", "19"}))
		})
		require.Zero(t, x.Len())
		require.Zero(t, x.Buckets())
	}
}

// Two Removes run at once with Add. One of them may come before it; a third,
// afterwards, stands for the re-check.
func TestRemoveDuringAddLeavesNothing(t *testing.T) {
	t.Parallel()
	x := index.New()
	c := newConn(t)
	for i := range stressRounds {
		other := reserve(t, c, "other", manyKeys())
		if i%2 == 0 { // so that the buckets do not always vanish
			x.Add(other)
		}
		h := reserve(t, c, "s", manyKeys())
		found := make([]bool, 2)
		together(func() { x.Add(h) }, func() { found[0] = x.Remove(h) }, func() { found[1] = x.Remove(h) })
		last := x.Remove(h)
		require.Equal(t, 1, count(found[0], found[1], last), "exactly one Remove finds it")
		require.Equal(t, x.Len()*20, x.Entries())
		x.Remove(other)
		require.Zero(t, x.Buckets())
	}
}

func count(found ...bool) (n int) {
	for _, f := range found {
		if f {
			n++
		}
	}
	return n
}

// Handles come and go in few buckets while lookups run. One that stays is in
// every lookup, once; one that was removed is in none.
func TestLookupsDuringChurnSeeWhatStays(t *testing.T) {
	t.Parallel()
	x := index.New()
	c := newConn(t)
	stays := reserve(t, c, "stays", nostr.Filter{Kinds: []int{1}}, nostr.Filter{Tags: nostr.TagMap{"t": {"x", "y"}}})
	x.Add(stays)
	ev := event("", "", 1, nostr.Tag{"t", "x"}, nostr.Tag{"t", "y"}, nostr.Tag{"t", "2"})
	var errs [2]error
	together(
		func() { churn(t, x, "a") },
		func() { churn(t, x, "bb") },
		func() { errs[0] = lookups(x, stays, ev) },
		func() { errs[1] = lookups(x, stays, ev) },
	)
	require.NoError(t, errors.Join(errs[:]...))
	require.Equal(t, []*lifecycle.Handle{stays}, x.Candidates(nil, ev))
	x.Remove(stays)
	require.Zero(t, x.Buckets())
}
