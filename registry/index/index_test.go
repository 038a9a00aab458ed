package index_test

import (
	"strconv"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/registry/index"
	"fencepost/relay/wire"
)

func TestFilterIsFiledUnderItsMostSelectiveField(t *testing.T) {
	t.Parallel()
	full := nostr.Filter{
		IDs: []string{"i"}, Authors: []string{"a"}, Kinds: []int{1},
		Tags: nostr.TagMap{"t": {"x", "y"}, "p": {"z"}},
	}
	noIDs, noTags, noAuthors := full, full, full
	noIDs.IDs = nil
	noTags.IDs, noTags.Tags = nil, nil
	noAuthors.IDs, noAuthors.Tags, noAuthors.Authors = nil, nil, nil
	since := nostr.Timestamp(5)
	tests := []struct {
		name    string
		filter  nostr.Filter
		hit     *wire.Event // has the chosen value and no other
		missed  *wire.Event // has every other value
		entries int
	}{
		{"ids first", full, event("i", "", 0), event("", "a", 1, nostr.Tag{"p", "z"}, nostr.Tag{"t", "x"}), 1},
		{"the shortest tag list next", noIDs, event("", "", 0, nostr.Tag{"p", "z"}), event("i", "a", 1, nostr.Tag{"t", "x"}), 1},
		{"then authors", noTags, event("", "a", 0), event("i", "", 1, nostr.Tag{"p", "z"}), 1},
		{"then kinds", noAuthors, event("", "", 1), event("i", "a", 0, nostr.Tag{"p", "z"}), 1},
		{"every value of the list", nostr.Filter{Kinds: []int{1, 2, 3}}, event("", "", 3), event("", "", 4), 3},
		{"tag names differ in case", nostr.Filter{Tags: nostr.TagMap{"e": {"v"}}}, event("", "", 0, nostr.Tag{"e", "v"}), event("", "", 0, nostr.Tag{"E", "v"}), 1},
		{"the empty tag value is a value", nostr.Filter{Tags: nostr.TagMap{"d": {""}}}, event("", "", 0, nostr.Tag{"d", ""}), event("", "", 0, nostr.Tag{"d"}), 1},
		{"a tag value is no author", nostr.Filter{Tags: nostr.TagMap{"p": {"a"}}}, event("", "", 0, nostr.Tag{"p", "a"}), event("a", "a", 0), 1},
		{"only times: every event", nostr.Filter{Since: &since}, event("", "", 0), nil, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			x := index.New()
			h := reserve(t, newConn(t), "s", test.filter)
			x.Add(h)
			assert.Equal(t, test.entries, x.Entries())
			assert.Equal(t, []*lifecycle.Handle{h}, x.Candidates(nil, test.hit))
			if test.missed != nil {
				assert.Empty(t, x.Candidates(nil, test.missed))
			}
		})
	}
}

func TestFilterWithAnEmptyListIsNotFiled(t *testing.T) {
	t.Parallel()
	x := index.New()
	h := reserve(
		t, newConn(t), "s",
		nostr.Filter{IDs: []string{}, Kinds: []int{1}},
		nostr.Filter{Authors: []string{}, Kinds: []int{1}},
		nostr.Filter{Kinds: []int{}},
		nostr.Filter{Kinds: []int{1}, Tags: nostr.TagMap{"e": {}, "p": {"v"}}},
	)
	x.Add(h)
	assert.Zero(t, x.Entries())
	assert.Empty(t, x.Candidates(nil, event("i", "a", 1, nostr.Tag{"p", "v"})))
	assert.Equal(t, 1, x.Len())
	assert.True(t, x.Remove(h))
	assert.Zero(t, x.Len())
}

func TestHandleIsACandidateOnce(t *testing.T) {
	t.Parallel()
	x := index.New()
	c := newConn(t)
	several := reserve(
		t, c, "several",
		nostr.Filter{IDs: []string{"i"}},
		nostr.Filter{Kinds: []int{1, 2}},
		nostr.Filter{Kinds: []int{1}, Limit: 3},
		nostr.Filter{Authors: []string{"a"}},
		nostr.Filter{},
		nostr.Filter{Tags: nostr.TagMap{"p": {"v", "w"}}},
	)
	tags := reserve(t, c, "tags", nostr.Filter{Tags: nostr.TagMap{"p": {"v", "w", "x"}}})
	kind := reserve(t, c, "kind", nostr.Filter{Kinds: []int{1}})
	for _, h := range []*lifecycle.Handle{several, tags, kind, several} {
		x.Add(h)
	}
	ev := event("i", "a", 1, nostr.Tag{"p", "v"}, nostr.Tag{"p", "w"}, nostr.Tag{"p", "v", "again"}, nostr.Tag{"p"}, nostr.Tag{})
	assert.ElementsMatch(t, []*lifecycle.Handle{several, tags, kind}, x.Candidates(nil, ev))
	assert.ElementsMatch(t, []*lifecycle.Handle{kind, several, tags, kind}, x.Candidates([]*lifecycle.Handle{kind}, ev), "dst is kept")
}

func TestRemoveTakesOutExactlyThatHandle(t *testing.T) {
	t.Parallel()
	x := index.New()
	c := newConn(t)
	filter := nostr.Filter{Kinds: []int{1, 2}, Tags: nostr.TagMap{"t": {"x", "y", "z"}}}
	old := reserve(t, c, "same id", filter)
	x.Add(old)
	newer := reserve(t, c, "same id", filter)
	x.Add(newer)
	require.Equal(t, 2, x.Len())

	assert.True(t, x.Remove(old))
	assert.False(t, x.Remove(old))
	ev := event("", "", 1, nostr.Tag{"t", "y"}, nostr.Tag{"t", "z"})
	assert.Equal(t, []*lifecycle.Handle{newer}, x.Candidates(nil, ev))

	assert.True(t, x.Remove(newer))
	assert.Empty(t, x.Candidates(nil, ev))
	assert.Zero(t, x.Len())
	assert.Zero(t, x.Buckets(), "an emptied bucket is deleted")
}

func TestRemovalInAnyOrderKeepsTheRest(t *testing.T) {
	t.Parallel()
	const n = 500
	x := index.New()
	left := map[*lifecycle.Handle]bool{}
	handles := many(t, n, func(int) nostr.Filter { return nostr.Filter{Kinds: []int{1}} })
	for _, h := range handles {
		x.Add(h)
		left[h] = true
	}
	for i := range n {
		h := handles[i*7%n] // 7 and n have no common divisor
		require.True(t, x.Remove(h))
		delete(left, h)
		got := x.Candidates(nil, event("", "", 1))
		require.Len(t, got, len(left))
		for _, g := range got {
			require.True(t, left[g])
		}
	}
	assert.Zero(t, x.Buckets())
}

// A lookup must not look at subscriptions that share no key with the event.
func TestLookupVisitsOnlyWhatTheEventNames(t *testing.T) {
	t.Parallel()
	x := index.New()
	for _, h := range many(t, 5000, func(i int) nostr.Filter {
		v := strconv.Itoa(i)
		return []nostr.Filter{
			{IDs: []string{v}},
			{Tags: nostr.TagMap{"p": {v}}, Kinds: []int{1}},
			{Authors: []string{v}, Kinds: []int{1}},
			{Kinds: []int{10000 + i}},
		}[i%4]
	}) {
		x.Add(h)
	}
	ev := event("0", "2", 10003, nostr.Tag{"p", "1"}, nostr.Tag{"p", "5"}, nostr.Tag{"p", "5"})
	assert.Len(t, x.Candidates(nil, ev), 5)
	assert.Equal(t, 5, x.Visited(ev))
	assert.Zero(t, x.Visited(event("none", "none", 1)))
}

// 2,000 repeated tags that hit a crowded bucket must not visit it 2,000 times.
func TestRepeatedTagsVisitABucketOnce(t *testing.T) {
	t.Parallel()
	const crowd = 1000
	x := index.New()
	for _, h := range many(t, crowd, func(int) nostr.Filter {
		return nostr.Filter{Tags: nostr.TagMap{"t": {"x", "y"}}}
	}) {
		x.Add(h)
	}
	var tags nostr.Tags
	for range 1000 {
		tags = append(tags, nostr.Tag{"t", "x"}, nostr.Tag{"t", "y"})
	}
	ev := event("", "", 1, tags...)
	assert.Equal(t, 2*crowd, x.Visited(ev))
	assert.Len(t, x.Candidates(nil, ev), crowd)
}

// Not parallel: it counts allocations.
func TestLookupAllocatesNothing(t *testing.T) {
	x := index.New()
	for _, h := range many(t, 300, func(i int) nostr.Filter {
		return nostr.Filter{Tags: nostr.TagMap{"t": {"x", strconv.Itoa(i)}}}
	}) {
		x.Add(h)
	}
	var tags nostr.Tags
	for i := range 2000 {
		tags = append(tags, nostr.Tag{"t", strconv.Itoa(i)}, nostr.Tag{"t", "x"})
	}
	ev := event("i", "a", 1, tags...)
	dst := make([]*lifecycle.Handle, 0, 400)
	allocs := testing.AllocsPerRun(100, func() { dst = x.Candidates(dst[:0], ev) })
	assert.Len(t, dst, 300)
	if !raceEnabled {
		assert.Less(t, allocs, 1.0)
	}
}
