package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// letters keeps dead letters in memory.
type letters struct {
	mu   sync.Mutex // guards the fields below
	kept map[store.Position]store.DeadLetter
	err  error // of Put
}

func (l *letters) PutDeadLetter(_ context.Context, d store.DeadLetter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.kept[d.Position] = d
	}
	return l.err
}

func (l *letters) TakeDeadLetter(_ context.Context, replica string, at store.Position) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, there := l.kept[at]
	there = there && d.Replica == replica
	if there {
		delete(l.kept, at)
	}
	return there, nil
}

func (l *letters) DeadLetters(context.Context, int) ([]store.DeadLetter, error) {
	return slices.Collect(maps.Values(l.all())), nil
}

func (l *letters) all() map[store.Position]store.DeadLetter {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.kept)
}

// fail has letters not kept, or kept again.
func (l *letters) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

// spoil makes rows unreadable.
func (w *world) spoil(rows ...store.Position) {
	for _, at := range rows {
		w.log.broken.Store(at, errBad)
	}
}

// unreadable is what a store tells of a row that it cannot read.
func unreadable(e store.Entry, why error) store.Entry {
	var body []byte
	if e.Event != nil {
		body = e.Event.Raw()
	}
	return store.Entry{Position: e.Position, Type: e.Type, Prefix: e.Prefix, Broken: store.Salvage(why, body)}
}

var (
	errBad   = fmt.Errorf("%w: no JSON", store.ErrDamaged)
	errNewer = fmt.Errorf("%w: version 2", store.ErrNewer)
)

// post is event n of a group.
func post(n int, group string) func() (int, []nostr.Tag) {
	return func() (int, []nostr.Tag) { return n, []nostr.Tag{{"h", group}} }
}

// posts commits events of groups.
func (w *world) posts(t *testing.T, list ...func() (int, []nostr.Tag)) {
	t.Helper()
	for _, p := range list {
		n, tags := p()
		w.commit(t, note(n, 1, tags...))
	}
}

const (
	// retried is enough time for all attempts at a row.
	retried = 10 * time.Second
	// tried is enough for the second attempt at one, and too little for all at the next.
	tried = 500 * time.Millisecond
)

// O9: the row is counted, and the batch goes on.
func TestAPoisonRowHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "x", 1)
		defer w.run(t)()
		w.spoil(2)
		w.commit(t, note(1, 1), note(2, 1), note(3, 1), note(4, 1))
		synctest.Wait()
		require.Equal(t, []string{"1", "3", "4"}, w.take(t))
		require.Equal(t, []store.Position{2}, w.Deferred())
		require.EqualValues(t, 4, w.Applied())
		require.EqualValues(t, 1, w.Settled())
		require.NoError(t, w.Await(t.Context(), 4), "what is deferred holds up nobody who waits for permissions")

		w.log.broken.Delete(store.Position(2))
		after(retried)
		require.Equal(t, []string{"2"}, w.take(t), "once")
		require.Empty(t, w.Deferred())
		require.EqualValues(t, 4, w.Settled())
		require.Empty(t, w.letters.all())
	})
}

// O10: nobody sees the newer state before the older.
func TestNewerRowsOfAnAggregateWaitForTheOlder(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "x", 1)
		defer w.run(t)()
		w.spoil(1, 3)
		w.posts(t, post(1, "a"), post(2, "b"), post(3, "a"), post(4, "a"), post(5, "c"))
		synctest.Wait()
		require.Equal(t, []string{"2", "5"}, w.take(t))
		require.Equal(t, []store.Position{1, 3, 4}, w.Deferred())
		w.log.broken.Delete(store.Position(1))
		after(tried)
		require.Equal(t, []string{"1"}, w.take(t))
		require.Equal(t, []store.Position{3, 4}, w.Deferred(), "the next one fails by itself")
		w.posts(t, post(6, "a"))
		synctest.Wait()
		require.Empty(t, w.take(t))
		w.log.broken.Delete(store.Position(3))
		after(retried)
		require.Equal(t, []string{"3", "4", "6"}, w.take(t))
		require.Empty(t, w.Deferred())
	})
}

// O17: a row that is given up is told to whoever could miss it.
func TestARowThatFailsTooOftenIsADeadLetter(t *testing.T) {
	t.Parallel()
	for class, spoil := range map[string]func(w *world){
		"damaged": func(w *world) { w.spoil(1) },
		"newer":   func(w *world) { w.log.broken.Store(store.Position(1), errNewer) },
		"panic": func(w *world) {
			w.policy.sight = func(ev *wire.Event) lifecycle.Sight {
				if ev.Content == "1" {
					panic("cannot judge this")
				}
				return lifecycle.Sight{}
			}
		},
	} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			in(t, 0, func(t *testing.T, w *world) {
				w.subscribe(t, "concerned", 1)
				other := w.subscribe(t, "other", 2)
				spoil(w)
				w.posts(t, post(1, "a"), post(2, "a"))
				begin := time.Now()
				w.step(t)
				require.Empty(t, w.letters.all(), "not after one attempt")
				stop := w.run(t)
				defer stop()
				after(retried)
				letter := w.letters.all()[1]
				require.WithinDuration(t, begin.Add(2500*time.Millisecond), letter.At, 2*time.Second)
				letter.At = time.Time{}
				require.Equal(t, store.DeadLetter{Position: 1, Replica: "r1", Attempts: 5, Class: class}, letter)
				require.Equal(t, []string{class}, w.counts.letters)
				require.Equal(t, []string{"CLOSED"}, w.take(t))
				require.Equal(t, []*lifecycle.Handle{other}, w.index.all)
				require.True(t, other.Current())
				require.Empty(t, w.Deferred())
				require.EqualValues(t, 2, w.Settled())
			})
		})
	}
}

// A subscription that can tell what it misses goes on: what is readable of the row
// says that it did not ask for it.
func TestADeadLetterEndsWhatCouldMatchAndNothingElse(t *testing.T) {
	t.Parallel()
	author := note(1, 1).Event().PubKey
	stranger := fmt.Sprintf("%064x", 7)
	for name, row := range map[string]struct {
		filter nostr.Filter
		ends   bool
	}{
		"everything":     {nostr.Filter{}, true},
		"the kind":       {nostr.Filter{Kinds: []int{1, 2}}, true},
		"another kind":   {nostr.Filter{Kinds: []int{2}}, false},
		"the author":     {nostr.Filter{Authors: []string{author}}, true},
		"another author": {nostr.Filter{Authors: []string{stranger}, Kinds: []int{1}}, false},
		"the id":         {nostr.Filter{IDs: []string{note(1, 1).Event().ID}}, true},
		"another id":     {nostr.Filter{IDs: []string{stranger}}, false},
		"some tag":       {nostr.Filter{Tags: nostr.TagMap{"t": {"x"}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, 0, func(t *testing.T, w *world) {
				h := w.filter(t, "x", wire.NewFilter(row.filter))
				w.spoil(1)
				w.commit(t, note(1, 1))
				defer w.run(t)()
				after(retried)
				require.Len(t, w.letters.all(), 1)
				require.Equal(t, !row.ends, h.Current())
			})
		})
	}
}

// A subscription that began when the row was no longer deferred has it from the store.
func TestADeadLetterSparesWhoIsNotOwedIt(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.spoil(1)
		w.commit(t, note(1, 1))
		w.step(t)
		filters := []*wire.Filter{wire.NewFilter(nostr.Filter{Kinds: []int{1}})}
		h, _, err := w.conn.Reserve(t.Context(), "x", filters)
		require.NoError(t, err)
		w.index.add(h)
		h.Begin(1) // and nothing late
		defer w.run(t)()
		after(retried)
		require.Len(t, w.letters.all(), 1)
		require.True(t, h.Current())
	})
}

// What breaks with one reader only is that reader's trouble.
func TestAPanicWithOneReaderEndsThatSubscriptionOnly(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		all := []*lifecycle.Handle{w.subscribe(t, "a", 1), w.subscribe(t, "b", 1), w.subscribe(t, "c", 1)}
		calls := 0
		w.policy.sight = func(*wire.Event) lifecycle.Sight {
			return lifecycle.Sight{May: func([]string) bool {
				if calls++; calls == 2 {
					panic("this one")
				}
				return true
			}}
		}
		w.commit(t, note(1, 1))
		require.Equal(t, 1, w.step(t))
		require.Equal(t, 3, calls)
		require.ElementsMatch(t, []string{"1", "CLOSED", "1"}, w.take(t))
		require.False(t, all[1].Current())
		require.NotContains(t, w.index.all, all[1])
		require.Empty(t, w.Deferred())
	})
}

// O11: a database that cannot be read is nobody's attempt.
func TestABrokenLogIsNoAttemptAtARow(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "x", 1)
		w.spoil(1)
		w.commit(t, note(1, 1))
		w.step(t)
		defer w.run(t)()
		w.log.failing.Store(true)
		after(10 * time.Minute)
		require.Empty(t, w.letters.all())
		require.Equal(t, []store.Position{1}, w.Deferred())
		w.log.broken.Delete(store.Position(1))
		w.log.failing.Store(false)
		after(retried)
		require.Equal(t, []string{"1"}, w.take(t))
	})
}

func TestARowIsNotGivenUpBeforeThatIsWrittenDown(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		h := w.subscribe(t, "x", 1)
		defer w.run(t)()
		w.spoil(1)
		w.letters.fail(errors.New("disk is full"))
		w.posts(t, post(1, "a"), post(2, "a"), post(3, "b"))
		after(time.Minute)
		require.Equal(t, []string{"3"}, w.take(t), "others go on")
		require.True(t, h.Current())
		require.Equal(t, []store.Position{1, 2}, w.Deferred())
		require.False(t, w.Failing())
		w.letters.fail(nil)
		after(retried)
		require.Len(t, w.letters.all(), 1)
		require.False(t, h.Current())
	})
}

// What was removed while it waited is delivered to nobody, and no fault.
func TestADeferredRowThatIsRemovedIsDone(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "x", 1)
		w.spoil(1)
		ev := note(1, 1).Event()
		w.commit(t, note(1, 1), note(2, 1))
		w.step(t)
		w.commit(t, note(3, 5, nostr.Tag{"e", ev.ID}))
		w.log.broken.Delete(store.Position(1))
		defer w.run(t)()
		after(retried)
		require.Equal(t, []string{"2"}, w.take(t))
		require.Empty(t, w.Deferred())
		require.Empty(t, w.letters.all())
	})
}

// The bound of memory: the first of an aggregate is given up at once.
func TestTooManyWaitingRowsGiveUpTheFirst(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.spoil(1)
		for n := 1; n <= 4096; n++ {
			w.posts(t, post(n, "a"))
		}
		for range 16 {
			require.Equal(t, 256, w.step(t))
		}
		require.Len(t, w.Deferred(), 4096)
		h := w.subscribe(t, "x", 2)
		w.commit(t, note(5000, 2, nostr.Tag{"h", "a"}), note(5001, 2))
		w.step(t)
		require.Equal(t, "crowded", w.letters.all()[1].Class)
		require.Empty(t, w.Deferred(), "what waited for it goes on")
		require.Equal(t, []string{"5000", "5001"}, w.take(t))
		require.True(t, h.Current())
	})
}

func TestARequeuedRowIsAppliedAgain(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		defer w.run(t)()
		w.subscribe(t, "gone", 1)
		late := w.subscribe(t, "kind 2", 2) // did not ask for it when it could be read no better
		w.spoil(1)
		w.commit(t, note(1, 1))
		after(retried)
		require.Equal(t, []string{"CLOSED"}, w.take(t))
		require.ErrorIs(t, w.Requeue(t.Context(), 2), store.ErrNoLetter)
		newer := w.subscribe(t, "newer", 1)
		require.NoError(t, w.Requeue(t.Context(), 1))
		require.ErrorIs(t, w.Requeue(t.Context(), 1), store.ErrNoLetter, "it is being tried")
		synctest.Wait()
		require.Equal(t, []store.Position{1}, w.Deferred(), "it fails again")
		w.log.broken.Delete(store.Position(1))
		after(retried)
		require.Empty(t, w.Deferred())
		require.Empty(t, w.letters.all())
		require.Empty(t, w.take(t), "nobody is owed it any more")
		require.True(t, late.Current())
		require.True(t, newer.Current())
	})
}

func TestARequestOutlivesABrokenLog(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		defer w.run(t)()
		w.spoil(1, 2)
		w.commit(t, note(1, 1), note(2, 1))
		after(retried)
		require.Len(t, w.letters.all(), 2)
		w.log.failing.Store(true)
		require.NoError(t, w.Requeue(t.Context(), 1))
		require.NoError(t, w.Requeue(t.Context(), 2))
		after(time.Minute)
		require.Empty(t, w.letters.all())
		w.log.failing.Store(false)
		after(retried)
		after(retried)
		require.Len(t, w.letters.all(), 2, "both were tried, and failed again")
	})
}

// O16: control rows are never deferred, whatever is wrong with them.
func TestAControlRowThatCannotBeReadStopsTheFollower(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(w *world){
		"damaged": func(w *world) { w.spoil(2) },
		"panic":   func(w *world) { w.policy.apply = func(*store.Entry) error { panic("cannot apply this") } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, 0, func(t *testing.T, w *world) {
				w.subscribe(t, "x", 1)
				spoil(w)
				w.commit(t, note(1, 1))
				require.EqualValues(t, 2, w.control(t))
				w.commit(t, note(3, 1))
				stop := w.run(t)
				after(time.Minute)
				require.Equal(t, []string{"1"}, w.take(t))
				require.EqualValues(t, 1, w.Applied())
				require.Empty(t, w.Deferred())
				require.Empty(t, w.letters.all())
				require.True(t, w.Failing())
				require.False(t, w.Fresh(), "fail closed")
				require.Equal(t, 1, w.distrusted, "once, as nothing is let in after it")
				stop()

				w.log.broken.Clear()
				w.policy.apply = nil
				w.step(t)
				require.True(t, w.Fresh())
				require.Equal(t, []string{"3"}, w.take(t))
			})
		})
	}
}

// O18: permissions that cannot be kept up are not trusted.
func TestWhatIsNotConfirmedIsNotTrusted(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		stop, unwatch := w.run(t), w.watch(t)
		defer unwatch()
		defer stop()
		after(time.Minute)
		require.True(t, w.Fresh())
		require.Zero(t, w.distrusted)
		w.log.failing.Store(true)
		after(4 * time.Second)
		require.True(t, w.Fresh())
		after(2 * time.Second)
		require.False(t, w.Fresh())
		after(2 * time.Second)
		require.Positive(t, w.distrusted)
		w.log.failing.Store(false)
		after(10 * time.Second)
		require.True(t, w.Fresh())
		told := w.distrusted
		after(time.Minute)
		require.Equal(t, told, w.distrusted)
	})
}

// Many aggregates fail at once, and each keeps its order.
func TestEachAggregateKeepsItsOrder(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		w.subscribe(t, "x", 1)
		defer w.run(t)()
		const groups, each = 5, 3
		for n := range groups * each {
			if n%4 == 0 {
				w.spoil(store.Position(n + 1))
			}
			w.posts(t, post(n, strconv.Itoa(n%groups)))
		}
		got := w.take(t)
		for n := range groups * each {
			synctest.Wait()
			w.log.broken.Delete(store.Position(n + 1))
			after(40 * time.Millisecond)
			got = append(got, w.take(t)...)
		}
		after(retried)
		got = append(got, w.take(t)...)
		require.Len(t, got, groups*each)
		last := map[int]int{}
		for _, text := range got {
			n, err := strconv.Atoi(text)
			require.NoError(t, err)
			require.GreaterOrEqual(t, n, last[n%groups], got)
			last[n%groups] = n
		}
	})
}

// O17: a feed hands out positions, so it ends before it passes a row, and only if it
// could match.
func TestAFeedEndsWhereARowIsDeferred(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		feed := func(id string, kind int, begin store.Position) *lifecycle.Handle {
			h, _, err := w.conn.ReserveFeed(t.Context(), id, []*wire.Filter{wire.NewFilter(nostr.Filter{Kinds: []int{kind}})}, true)
			require.NoError(t, err)
			w.index.add(h)
			h.Begin(begin)
			return h
		}
		concerned, other, newer := feed("a", 1, 0), feed("b", 2, 0), feed("c", 1, 2)
		plain := w.subscribe(t, "x", 1)
		w.spoil(1)
		w.posts(t, post(1, "g"), post(2, "g"))
		w.step(t)
		require.False(t, concerned.Current())
		require.True(t, other.Current())
		require.True(t, newer.Current(), "it reads the row from the log")
		require.True(t, plain.Current())
	})
}

func TestSettleWaitsForDeferredRows(t *testing.T) {
	t.Parallel()
	in(t, 0, func(t *testing.T, w *world) {
		defer w.run(t)()
		w.spoil(1)
		w.commit(t, note(1, 1), note(2, 1))
		waiting, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, w.Settle(waiting, 2), context.DeadlineExceeded)
		w.log.broken.Delete(store.Position(1))
		require.NoError(t, w.Settle(t.Context(), 2))
		require.EqualValues(t, 2, w.Settled())
	})
}

// filter makes a live subscription.
func (w *world) filter(t *testing.T, id string, f *wire.Filter) *lifecycle.Handle {
	t.Helper()
	h, _, err := w.conn.Reserve(t.Context(), id, []*wire.Filter{f})
	require.NoError(t, err)
	w.index.add(h)
	h.Begin(w.Begun(), w.Deferred()...)
	live, err := h.GoLive(wire.HintFinish)
	require.NoError(t, err)
	require.True(t, live)
	w.take(t)
	return h
}

// watch starts Watch and returns what stops it and waits for it.
func (w *world) watch(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Watch(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
