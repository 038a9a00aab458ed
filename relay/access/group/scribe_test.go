package group_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/access/control"
	"fencepost/relay/access/group"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// desk is a scribe over a book that is fed with rows, and what it has written.
type desk struct {
	t      *testing.T
	book   *group.Book
	at     store.Position
	rows   []control.Row
	logged bytes.Buffer

	mu      sync.Mutex             // held while the fields below are read or changed
	stored  map[string]int64       // group -> created_at of its list
	told    map[string]*wire.Event // kind and group -> what was told
	lists   []*wire.Event
	times   []time.Duration // since the start, of each list
	batches []int
	start   time.Time

	refuse  error // what Append says, nil when it commits
	unknown error // what Stored says
}

// place is where what was told of a group is kept.
func place(kind int, id string) string { return fmt.Sprint(kind, " ", id) }

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, stored: map[string]int64{}, told: map[string]*wire.Event{}, start: time.Now()}
	book, err := group.New(group.Options{
		Self:     self,
		Sign:     func(ev *nostr.Event) error { seal(self, ev); return nil },
		Now:      time.Now,
		Find:     func(context.Context, string) (*wire.Event, bool, error) { return nil, false, nil },
		Prefixed: func(context.Context, string) ([]*wire.Event, error) { return nil, nil },
	})
	require.NoError(t, err)
	d.book = book
	return d
}

// run starts the scribe; it ends with the returned function.
func (d *desk) run() (stop func()) {
	s, err := group.NewScribe(group.ScribeOptions{
		Book: d.book, Append: d.append, Now: time.Now, Logger: slog.New(slog.NewTextHandler(&d.logged, nil)),
		Stored: func(_ context.Context, kind int, id string) (*wire.Event, bool, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			if ev, ok := d.told[place(kind, id)]; ok {
				return ev, true, d.unknown
			}
			at, ok := d.stored[id]
			ev := wire.NewEvent(nostr.Event{CreatedAt: nostr.Timestamp(at)})
			if !ok || kind != 39002 {
				ev, ok = nil, false
			}
			return ev, ok, d.unknown
		},
	})
	require.NoError(d.t, err)
	g := lifecycle.NewGroup(d.t.Context())
	g.Go("scribe", s.Run)
	synctest.Wait()
	return func() {
		g.Cancel()
		require.NoError(d.t, g.Wait(d.t.Context()))
	}
}

func (d *desk) append(_ context.Context, writes []store.Write) []store.Outcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.batches = append(d.batches, len(writes))
	out := make([]store.Outcome, len(writes))
	for i, w := range writes {
		if d.refuse != nil {
			out[i].Err = d.refuse
			continue
		}
		require.Greater(d.t, int64(w.Event.CreatedAt), d.stored[w.Event.D()], "it does not replace the older list")
		d.stored[w.Event.D()] = int64(w.Event.CreatedAt)
		for _, ev := range append([]*wire.Event{w.Event}, w.Also...) {
			d.told[place(ev.Kind, ev.D())] = ev
		}
		d.lists = append(d.lists, w.Event)
		d.times = append(d.times, time.Since(d.start))
	}
	return out
}

func (d *desk) row(row control.Row) {
	d.at++
	if row.Stamp == 0 && row.Type != control.GroupDeleted && row.Type != control.KeyVanished {
		row.Stamp = time.Now().Unix()
	}
	d.rows = append(d.rows, row)
	_, err := d.book.Apply(d.at, row, nil)
	require.NoError(d.t, err)
}

func (d *desk) create(id string) {
	d.row(control.Row{Type: control.GroupCreated, Group: id, Key: alice})
}

func (d *desk) put(id, key string) {
	d.row(control.Row{Type: control.GroupPut, Group: id, Key: key})
}

func (d *desk) people(i int) (out []string) {
	for _, t := range d.lists[i].Tags[1:] {
		out = append(out, t[1])
	}
	return out
}

// set changes what Append and Stored say.
func (d *desk) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// pass lets the time of the bubble pass, and what is due then happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestListsAreWrittenAtOnceAndThenOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		defer d.run()()
		d.create("pizza")
		synctest.Wait()
		require.Equal(t, []time.Duration{0}, d.times)
		require.Equal(t, []string{alice}, d.people(0))
		require.Equal(t, 39002, d.lists[0].Kind)
		require.Equal(t, self, d.lists[0].PubKey)

		for i := range 50 { // changes within the second wait for its end
			d.put("pizza", keys[10+i])
			pass(10 * time.Millisecond)
		}
		d.create("pasta") // and do not keep another group waiting
		synctest.Wait()
		require.Equal(t, []time.Duration{0, 500 * time.Millisecond}, d.times)
		require.Equal(t, "pasta", d.lists[1].D())
		pass(time.Minute)
		require.Equal(t, []time.Duration{0, 500 * time.Millisecond, time.Second}, d.times)
		require.Len(t, d.people(2), 51)

		d.row(control.Row{Type: control.GroupRemoved, Group: "pizza", Key: alice})
		synctest.Wait()
		require.Len(t, d.lists, 4, "after a while the first change is written at once again")
		require.NotContains(t, d.people(3), alice)
		pass(time.Hour)
		require.Len(t, d.lists, 4)
		require.Empty(t, d.logged.String())
	})
}

func TestOnlyWrongListsAreWrittenAtTheStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		for _, id := range []string{"current", "newer", "older", "none", "gone"} {
			d.create(id)
		}
		d.row(control.Row{Type: control.GroupDeleted, Group: "gone"})
		now := time.Now().Unix()
		d.stored["newer"], d.stored["older"] = now+7, now+7
		for id, after := range map[string]int64{"current": 0, "newer": now + 6} {
			d.told[place(39002, id)], _, _ = group.MemberList(d.book, id, after)
		}
		defer d.run()()
		var written []string
		for _, ev := range d.lists {
			written = append(written, ev.D())
		}
		require.ElementsMatch(t, []string{"older", "none"}, written)

		d.put("newer", bob)
		synctest.Wait()
		require.EqualValues(t, now+8, d.stored["newer"], "a change is written however new the stored list is")
		require.Equal(t, []int{2, 1}, d.batches)
	})
}

func TestManyListsShareCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		for i := range 150 {
			d.create(fmt.Sprint("g", i))
		}
		defer d.run()()
		require.Equal(t, []int{64, 64, 22}, d.batches)
		require.Len(t, d.stored, 150)
	})
}

func TestAListThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		defer d.run()()
		d.set(func() { d.refuse = errors.New("disk full") })
		d.create("pizza")
		pass(10 * time.Minute)
		require.Greater(t, len(d.batches), 10)
		require.Less(t, len(d.batches), 20, "it waits longer and longer, up to a minute or a little more")
		require.Contains(t, d.logged.String(), "disk full")
		d.set(func() { d.refuse, d.unknown = nil, errors.New("not ready") })
		pass(2 * time.Minute)
		require.Contains(t, d.logged.String(), "not ready")
		require.Empty(t, d.lists)
		d.set(func() { d.unknown = nil })
		pass(2 * time.Minute)
		require.Len(t, d.lists, 1)
	})
}

func TestAListThatAnotherReplicaReplacedIsWrittenAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		defer d.run()()
		d.set(func() { d.refuse = store.ErrSuperseded })
		d.create("pizza")
		synctest.Wait()
		d.set(func() { d.refuse, d.stored["pizza"] = nil, time.Now().Unix()+1 })
		pass(time.Second)
		synctest.Wait()
		require.Equal(t, []time.Duration{time.Second}, d.times)
		require.EqualValues(t, d.start.Unix()+2, d.stored["pizza"])
		require.Empty(t, d.logged.String())
	})
}

func TestAListThatAnotherReplicaWroteIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, other := newDesk(t), newDesk(t)
		defer d.run()()
		other.create("pizza")
		list, ok, err := group.MemberList(other.book, "pizza", 0)
		require.NoError(t, err)
		require.True(t, ok)
		d.set(func() { d.told[place(39002, "pizza")] = list })
		d.create("pizza")
		synctest.Wait()
		require.Empty(t, d.batches)

		d.put("pizza", bob)
		pass(time.Minute)
		require.Equal(t, []time.Duration{time.Second}, d.times, "the other one's list counts as this one's")
		require.Len(t, d.people(0), 2)
	})
}

func TestTheSameListOfTwoReplicasIsWrittenOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		defer d.run()()
		d.set(func() { d.refuse = store.ErrDuplicate })
		d.create("pizza")
		synctest.Wait()
		require.Len(t, d.batches, 1)
		d.set(func() { d.told[place(39002, "pizza")], _, _ = group.MemberList(d.book, "pizza", 0) })
		pass(time.Hour)
		require.Len(t, d.batches, 1)
		require.Empty(t, d.logged.String())
	})
}

func TestADeletedGroupGetsNoList(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{store.ErrVanished, store.ErrDeleted, store.ErrBanned} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t)
			defer d.run()()
			d.create("pizza")
			synctest.Wait()
			d.put("pizza", bob) // waits for the end of the second
			d.row(control.Row{Type: control.GroupDeleted, Group: "pizza"})
			pass(time.Hour)
			require.Len(t, d.lists, 1)

			d.set(func() { d.refuse = refusal }) // it was deleted by somebody else meanwhile
			d.create("pasta")
			pass(time.Hour)
			require.Len(t, d.batches, 2)
			require.Empty(t, d.logged.String())
		})
	}
}

func TestRunEndsWithoutComplaint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.refuse = context.Canceled
		ctx, cancel := context.WithCancel(t.Context())
		s, err := group.NewScribe(group.ScribeOptions{
			Book: d.book, Now: time.Now, Logger: slog.New(slog.NewTextHandler(&d.logged, nil)),
			Append: func(ctx context.Context, w []store.Write) []store.Outcome { cancel(); return d.append(ctx, w) },
			Stored: func(context.Context, int, string) (*wire.Event, bool, error) { return nil, false, nil },
		})
		require.NoError(t, err)
		d.create("pizza")
		s.Run(ctx)
		require.Empty(t, d.logged.String())
	})
	_, err := group.NewScribe(group.ScribeOptions{})
	require.Error(t, err)
}

// The list names those with a privileged role first and not more than 2,000.
func TestTheListIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("pizza")
	many := make([]string, 3000)
	for i := range many {
		many[i] = fmt.Sprintf("%064x", i)
		_, err := w.book.Apply(store.Position(100+i), control.Row{Type: control.GroupPut, Group: "pizza", Key: many[i], Stamp: 1}, nil)
		require.NoError(t, err)
	}
	stamp := w.now.Unix()
	ev, ok, err := group.MemberList(w.book, "pizza", stamp+100)
	require.NoError(t, err)
	require.True(t, ok)
	require.EqualValues(t, stamp+101, ev.CreatedAt)
	require.Len(t, ev.Tags, 1+group.MaxListed)
	require.Equal(t, 2000, group.MaxListed)
	first := []string{ev.Tags[1][1], ev.Tags[2][1]}
	require.ElementsMatch(t, []string{alice, bob}, first)
	require.True(t, slices.IsSorted(first))
	require.Equal(t, nostr.Tag{"p", many[0]}, ev.Tags[3])

	ev, _, _ = group.MemberList(w.book, "pizza", 0)
	require.GreaterOrEqual(t, int64(ev.CreatedAt), stamp+1, "not before the newest change, which was stamped ahead")
	_, ok, err = group.MemberList(w.book, "pasta", 0)
	require.NoError(t, err)
	require.False(t, ok)
}
