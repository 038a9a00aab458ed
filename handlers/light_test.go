package handlers_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
)

// readings is a store that counts the rows which are read of its log.
type readings struct {
	store.Store
	rows *atomic.Int64
}

func (r readings) ReadLog(ctx context.Context, after store.Position, most int) ([]store.Entry, error) {
	rows, err := r.Store.ReadLog(ctx, after, most)
	r.rows.Add(int64(len(rows)))
	return rows, err
}

// Of large events a feed takes a few at a time, and reads little in vain; of small ones
// nothing.
func TestAFeedTakesLargeEventsInSmallPages(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ size, least, most int }{"large": {400_000, 30, 60}, "small": {4, 24, 27}} {
		rows := new(atomic.Int64)
		o := wrap(func(s store.Store) store.Store { return readings{s, rows} })
		o.Limits = harness.DefaultLimits()
		o.Limits.QueueBytes = 64 << 20
		talk(t, o, func(t *testing.T, r *harness.Relay, c *harness.Client) {
			for n := range int64(24) {
				r.Commit(t, storetest.Draft{Key: 1, Kind: 1, At: now + n, Content: strings.Repeat("x", row.size)}.Event())
			}
			r.Step(t)
			rows.Store(0)
			require.Len(t, changes(t, c, ``), 25)
			require.GreaterOrEqual(t, int(rows.Load()), row.least, "%s: what was let go is read again", name)
			require.LessOrEqual(t, int(rows.Load()), row.most, name)
		})
	}
}
