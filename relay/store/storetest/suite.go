package storetest

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Open makes an empty store that reads the time from now. It is closed by the
// suite, more than once.
type Open func(t *testing.T, now func() time.Time) store.Store

// start is the time at which every case begins, in Unix seconds.
const start = 1_700_000_000

// Run holds the stores that open makes to the contract.
func Run(t *testing.T, open Open) {
	groups := []struct {
		name  string
		cases map[string]func(t *testing.T, s *subject)
	}{
		{"append", appendCases},
		{"replace", replaceCases},
		{"delete", deleteCases},
		{"expire", expireCases},
		{"query", queryCases},
		{"values", valueCases},
		{"write", writeCases},
		{"terms", termCases},
		{"ban", banCases},
		{"erase", eraseCases},
		{"visible", visibleCases},
		{"log", logCases},
		{"retention", retentionCases},
		{"search", searchCases},
		{"copied", copiedCases},
		{"close", closeCases},
	}
	for _, group := range groups {
		for name, run := range group.cases {
			t.Run(group.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newSubject(t, open)
				run(t, s)
			})
		}
	}
}

// subject is the store under test with its clock.
type subject struct {
	store.Store
	seconds atomic.Int64
	t       *testing.T
}

func newSubject(t *testing.T, open Open) *subject {
	s := &subject{t: t}
	s.seconds.Store(start)
	s.Store = open(t, s.now)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func (s *subject) now() time.Time { return time.Unix(s.seconds.Load(), 0) }

// pass moves the clock on.
func (s *subject) pass(seconds int64) { s.seconds.Add(seconds) }

func (s *subject) append(events ...*wire.Event) []store.Outcome {
	s.t.Helper()
	writes := make([]store.Write, len(events))
	for i, e := range events {
		writes[i] = store.Write{Event: e}
	}
	outcomes := s.Append(s.t.Context(), writes)
	require.Len(s.t, outcomes, len(events))
	return outcomes
}

// put appends one by one and requires that each is stored.
func (s *subject) put(events ...*wire.Event) {
	s.t.Helper()
	for _, e := range events {
		require.NoError(s.t, s.append(e)[0].Err)
	}
}

// refuse appends e and requires the decision want.
func (s *subject) refuse(want error, e *wire.Event) {
	s.t.Helper()
	require.ErrorIs(s.t, s.append(e)[0].Err, want)
}

// sweep sweeps at the subject's time.
func (s *subject) sweep() int {
	s.t.Helper()
	n, err := s.Sweep(s.t.Context(), s.now())
	require.NoError(s.t, err)
	return n
}

// holds requires that exactly these events are stored, in the order of answers.
func (s *subject) holds(want ...*wire.Event) {
	s.t.Helper()
	s.answers(nostr.Filter{}, want...)
}

// answers requires exactly these events for one filter, by query and by count.
func (s *subject) answers(f nostr.Filter, want ...*wire.Event) {
	s.t.Helper()
	got, hint := s.query(store.QueryOptions{}, f)
	require.Equal(s.t, ids(want), ids(got))
	require.Equal(s.t, wire.HintFinish, hint)
	n, exact := s.count(0, f)
	require.Equal(s.t, len(want), n)
	require.True(s.t, exact)
}

func (s *subject) snapshot() store.Snapshot {
	s.t.Helper()
	snap, err := s.Snapshot(s.t.Context())
	require.NoError(s.t, err)
	return snap
}

func (s *subject) query(opt store.QueryOptions, filters ...nostr.Filter) (events []*wire.Event, hint wire.Hint) {
	s.t.Helper()
	snap := s.snapshot()
	events, hint = ask(s.t, snap, opt, filters...)
	require.NoError(s.t, snap.Close())
	return events, hint
}

func (s *subject) count(limit int, filters ...nostr.Filter) (n int, exact bool) {
	s.t.Helper()
	snap := s.snapshot()
	n, exact, err := snap.Count(s.t.Context(), prepare(filters), limit, nil)
	require.NoError(s.t, err)
	require.NoError(s.t, snap.Close())
	return n, exact
}

// log reads the whole log, three rows at a time.
func (s *subject) log() []store.Entry {
	s.t.Helper()
	return readLog(s.t, s.Store)
}

func readLog(t require.TestingT, from store.Store) (all []store.Entry) {
	info, err := from.Log(context.Background())
	require.NoError(t, err)
	for last := info.Floor - 1; ; {
		rows, err := from.ReadLog(context.Background(), last, 3)
		require.NoError(t, err)
		if len(rows) == 0 {
			return all
		}
		for _, r := range rows {
			require.Equal(t, last+1, r.Position, "the log is dense")
			all, last = append(all, r), r.Position
		}
	}
}

// ask drains a query in pages of two.
func ask(t require.TestingT, snap store.Snapshot, opt store.QueryOptions, filters ...nostr.Filter) (events []*wire.Event, hint wire.Hint) {
	ctx := context.Background()
	rows, err := snap.Query(ctx, prepare(filters), opt)
	require.NoError(t, err)
	var page []store.Record
	for {
		page, err = rows.Next(ctx, page[:0], 2)
		if errors.Is(err, io.EOF) {
			require.Empty(t, page, "io.EOF comes alone")
			break
		}
		require.NoError(t, err)
		require.NotEmpty(t, page)
		require.LessOrEqual(t, len(page), 2)
		for _, r := range page {
			require.NotZero(t, r.Position)
			events = append(events, r.Event)
		}
	}
	hint = rows.Hint()
	require.NoError(t, rows.Close())
	return events, hint
}

func prepare(filters []nostr.Filter) []*wire.Filter {
	out := make([]*wire.Filter, len(filters))
	for i, f := range filters {
		out[i] = wire.NewFilter(f)
	}
	return out
}

func ids(events []*wire.Event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = e.ID
	}
	return out
}

func ptr(at int64) *nostr.Timestamp {
	v := nostr.Timestamp(at)
	return &v
}

// twins returns two drafts that differ in content only, lower id first.
func twins(d Draft) (low, high *wire.Event) {
	d.Content = "one"
	low = d.Event()
	d.Content = "two"
	high = d.Event()
	if high.ID < low.ID {
		return high, low
	}
	return low, high
}
