package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"fencepost/relay/store"
)

// RunCopies copies what random histories leave in the fake to what open makes and, from
// there, to another fake. All three must hold the same, refuse the same afterwards, and
// still hold the same then.
func RunCopies(t *testing.T, open Open) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{now: time.Unix(start, 0)}
		clock := func() time.Time { return m.now }
		m.fake, m.real = NewFake(clock), NewFake(clock)
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			m.step(rt)
		}
		copied := open(t, clock)
		defer func() { require.NoError(rt, copied.Close()) }()
		back := NewFake(clock)
		copyAll(rt, m.fake, copied, rapid.IntRange(1, 5).Draw(rt, "page"))
		copyAll(rt, copied, back, 3)
		requireCopies(rt, m.fake, copied, back)
		for range rapid.IntRange(1, 6).Draw(rt, "further steps") {
			m.further(rt, copied, back)
		}
		requireCopies(rt, m.fake, copied, back)
	})
}

// copyAll is the slow, obvious copy.
func copyAll(t *rapid.T, from, to store.Store, page int) {
	progress := store.Copying{}
	put := func(rows []store.Entry, marks []store.Mark, done bool) {
		next := store.Copying{Token: progress.Token + "+", Done: done}
		out := to.Append(context.Background(), []store.Write{{
			Copied: &store.Copied{Before: progress, After: next, Rows: rows, Marks: marks},
		}})
		require.NoError(t, out[0].Err)
		progress = next
	}
	for after := store.Position(0); ; {
		rows, err := from.(Copyable).ReadStored(context.Background(), after, page)
		require.NoError(t, err)
		if len(rows) == 0 {
			break
		}
		put(rows, nil, false)
		after = rows[len(rows)-1].Position
	}
	put(nil, allMarks(t, from, page), true)
}

// requireCopies requires that others hold what one holds.
func requireCopies(t *rapid.T, one store.Store, others ...store.Store) {
	var want []string
	for _, r := range allStored(t, one, 10) {
		want = append(want, content(r))
	}
	marks := allMarks(t, one, 10)
	for _, other := range others {
		var got []string
		for _, r := range allStored(t, other, 10) {
			got = append(got, content(r))
		}
		require.Equal(t, want, got)
		require.Equal(t, marks, allMarks(t, other, 10))
	}
}

// content is what a row holds, wherever it is.
func content(r store.Entry) string {
	if r.Control != nil {
		return fmt.Sprintf("%q %q", r.Control.Scopes, r.Control.Data)
	}
	return string(r.Event.Raw())
}

// further does the same to the fake and to copies, and requires the same answers,
// positions aside.
func (m *model) further(t *rapid.T, copies ...store.Store) {
	switch rapid.SampledFrom([]string{"append", "append", "append", "pass", "sweep"}).Draw(t, "further") {
	case "pass":
		m.now = m.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
	case "append":
		w := m.write(t)
		w.Terms = nil // epochs are positions
		want := m.fake.Append(context.Background(), []store.Write{w})[0].Err
		for _, s := range copies {
			require.Equal(t, want, s.Append(context.Background(), []store.Write{w})[0].Err)
		}
	case "sweep": // ephemeral rows are not copied, so the numbers differ
		for _, s := range append(copies, m.fake) {
			_, err := s.Sweep(context.Background(), m.now)
			require.NoError(t, err)
		}
	}
}
