package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// haystack is how many events stand between two needles. shortLook is more work
// than a page or the end may do for what it need not have, and shortPage more
// than it takes to fill a page with what is at hand.
const (
	haystack  = 5_000
	shortLook = 1500
	shortPage = 500
)

// needles asks for what no index has: every note has to be looked at.
var needles = nostr.Filter{Kinds: []int{1}, Tags: nostr.TagMap{"title": {"needle"}}}

// openHaystack stores two needles, the newest note and the oldest, and returns
// their ids, newest first.
func openHaystack(t *testing.T) (s *embedded.Store, ids []string) {
	s = openFS(t, vfs.NewMem())
	needle := func(at int64) *wire.Event {
		return storetest.Draft{Kind: 1, At: at, Tags: nostr.Tags{{"title", "needle"}}}.Event()
	}
	events := []*wire.Event{needle(0), needle(haystack)}
	for i := 1; i < haystack; i++ {
		events = append(events, storetest.Draft{Kind: 1, At: int64(i), Content: fmt.Sprint(i), Tags: nostr.Tags{{"t", "hay"}}}.Event())
	}
	fill(t, s, events)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, []string{events[1].ID, events[0].ID}
}

// begin asks, and closes what it opened when the test ends.
func begin(t *testing.T, s store.Store, opt store.QueryOptions, filters ...nostr.Filter) store.Rows {
	t.Helper()
	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, snap.Close()) })
	var prepared []*wire.Filter
	for _, f := range filters {
		prepared = append(prepared, wire.NewFilter(f))
	}
	rows, err := snap.Query(t.Context(), prepared, opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rows.Close()) })
	return rows
}

// nextPage returns the ids of the next page and what it cost.
func nextPage(t *testing.T, rows store.Rows) (ids []string, work int) {
	t.Helper()
	before := embedded.Work(rows)
	page, err := rows.Next(t.Context(), nil, 100)
	require.NoError(t, err)
	for _, r := range page {
		ids = append(ids, r.Event.ID)
	}
	return ids, embedded.Work(rows) - before
}

// requireEnd requires that the end comes soon and says hint.
func requireEnd(t *testing.T, rows store.Rows, hint wire.Hint) {
	t.Helper()
	before := embedded.Work(rows)
	_, err := rows.Next(t.Context(), nil, 100)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, hint, rows.Hint())
	require.Less(t, embedded.Work(rows)-before, shortLook)
}

func TestPageAndEndDoNotWaitForALongLookForMore(t *testing.T) {
	t.Parallel()
	s, needle := openHaystack(t)
	limited := needles
	limited.Limit = 1
	for name, c := range map[string]struct {
		f    nostr.Filter
		opt  store.QueryOptions
		hint wire.Hint
	}{
		"the filter's limit":   {limited, store.QueryOptions{}, wire.HintUnknown},
		"the relay's limit":    {needles, store.QueryOptions{MaxLimit: 1}, wire.HintUnknown},
		"the limit over all":   {needles, store.QueryOptions{MaxTotal: 1}, wire.HintUnknown},
		"no limit, more found": {nostr.Filter{}, store.QueryOptions{MaxTotal: 1}, wire.HintMore},
	} {
		rows := begin(t, s, c.opt, c.f)
		ids, work := nextPage(t, rows)
		require.Equal(t, needle[:1], ids, name)
		require.Less(t, work, shortPage, name)
		requireEnd(t, rows, c.hint)
	}
}

func TestLongLookOfOneFilterDoesNotHideWhatAnotherKnows(t *testing.T) {
	t.Parallel()
	s, needle := openHaystack(t)
	limited := needles
	limited.Limit = 1
	for _, filters := range [][]nostr.Filter{{limited, {Limit: 1}}, {{Limit: 1}, limited}} {
		rows := begin(t, s, store.QueryOptions{}, filters...)
		ids, _ := nextPage(t, rows)
		require.Equal(t, needle[:1], ids)
		requireEnd(t, rows, wire.HintMore)
	}
}

func TestRecordsDoNotWaitForALongScan(t *testing.T) {
	t.Parallel()
	s, needle := openHaystack(t)
	rows := begin(t, s, store.QueryOptions{}, needles)
	ids, work := nextPage(t, rows)
	require.Equal(t, needle[:1], ids)
	require.Less(t, work, shortLook)
	ids, work = nextPage(t, rows)
	require.Equal(t, needle[1:], ids)
	require.Greater(t, work, haystack-shortLook)
	requireEnd(t, rows, wire.HintFinish)
}

func TestRecordsDoNotWaitForAnotherFiltersScan(t *testing.T) {
	t.Parallel()
	s, _ := openHaystack(t)
	nothing := needles
	nothing.Tags = nostr.TagMap{"title": {"nothing"}}
	rows := begin(t, s, store.QueryOptions{}, nothing, nostr.Filter{Kinds: []int{1}, Limit: 50})
	ids, work := nextPage(t, rows)
	require.Len(t, ids, 50)
	require.Less(t, work, shortLook)
}

// flipping is a context that ends when it is asked for the nth time.
type flipping struct {
	context.Context
	left int
}

func (c *flipping) Err() error {
	if c.left--; c.left <= 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestEndOfTheContextEndsAScan(t *testing.T) {
	t.Parallel()
	s, _ := openHaystack(t)
	const asked = 10
	most := asked*embedded.CheckEvery + shortLook
	nothing := needles
	nothing.Tags = nostr.TagMap{"title": {"nothing"}}

	rows := begin(t, s, store.QueryOptions{}, nothing)
	ctx := &flipping{t.Context(), asked}
	_, err := rows.Next(ctx, nil, 100)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Zero(t, ctx.left, "it is not asked again")
	require.Less(t, embedded.Work(rows), most)

	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	for name, f := range map[string]nostr.Filter{"looks at events": nothing, "looks at entries": {Kinds: []int{1}}} {
		ctx = &flipping{t.Context(), asked}
		_, _, err = snap.Count(ctx, []*wire.Filter{wire.NewFilter(f)}, 0, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		require.Zero(t, ctx.left, name)
	}
	require.NoError(t, snap.Close())
}

func TestEndOfTheContextEndsTheChoiceOfPlans(t *testing.T) {
	t.Parallel()
	s, _ := openHaystack(t)
	f := nostr.Filter{Tags: nostr.TagMap{}}
	for _, name := range "abcdefghijklmnopqrstuvwxyz" {
		for i := range 10 {
			f.Tags[string(name)] = append(f.Tags[string(name)], fmt.Sprint(i))
		}
	}
	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	for range 2 {
		_, err = snap.Query(&flipping{t.Context(), 2}, []*wire.Filter{wire.NewFilter(f)}, store.QueryOptions{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	require.NoError(t, snap.Close())
}

func TestEndOfTheContextEndsTheLookForMore(t *testing.T) {
	t.Parallel()
	s, _ := openHaystack(t)
	rows := begin(t, s, store.QueryOptions{MaxLimit: 1}, needles)
	nextPage(t, rows)
	_, err := rows.Next(&flipping{t.Context(), 3}, nil, 100)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, wire.HintUnknown, rows.Hint())
}

// A slow client leaves its query between two pages for long.
func TestQueryHoldsNothingOfTheDatabaseBetweenPages(t *testing.T) {
	t.Parallel()
	s, _ := openHaystack(t)
	require.NoError(t, embedded.Flush(s)) // an iterator that is open holds the table
	rows := begin(t, s, store.QueryOptions{}, nostr.Filter{Kinds: []int{1}}, nostr.Filter{Tags: nostr.TagMap{"t": {"hay"}}, Limit: 1000})
	got := 0
	for {
		require.Zero(t, embedded.OpenTables(s), "after %d records", got)
		page, err := rows.Next(t.Context(), nil, 1000)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.Len(t, page, min(1000, haystack+1-got), "no page is short without a reason")
		got += len(page)
	}
	require.Equal(t, haystack+1, got)
}

// A query makes a stream for each value that it asks for, thousands if a stranger
// likes, and each buffers more the longer it is read.
func TestTheStreamsOfAQueryShareABoundedBuffer(t *testing.T) {
	t.Parallel()
	s := openFS(t, vfs.NewMem())
	values := make([]string, 200)
	var tags nostr.Tags
	for i := range values {
		values[i] = fmt.Sprint("v", i)
		tags = append(tags, nostr.Tag{"t", values[i]})
	}
	for i := range 520 {
		put(t, s, storetest.Draft{Kind: 1, At: int64(1 + i), Tags: tags}.Event())
	}
	f := wire.NewFilter(nostr.Filter{Tags: nostr.TagMap{"t": values}})
	peak, err := embedded.PeakBuffered(t.Context(), s, f)
	require.NoError(t, err)
	require.Greater(t, peak, embedded.MaxBuffered/2, "the bound is what stops them")
	require.LessOrEqual(t, peak, embedded.MaxBuffered)
	require.NoError(t, s.Close())
}
