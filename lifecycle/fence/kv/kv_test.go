package kv_test

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/lifecycle/fence"
	daprclient "fencepost/lifecycle/fence/dapr"
	"fencepost/lifecycle/fence/kv"
	"fencepost/regress/dapr"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
)

// everyStore runs a test over each behaviour of a component, in memory and through the
// API of a sidecar.
func everyStore(t *testing.T, test func(t *testing.T, w *town, m *dapr.Memory)) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := dapr.NewMemory(kind)
			test(t, newTown(t, m), m)
		})
		t.Run(name+" sidecar", func(t *testing.T) {
			t.Parallel()
			m := dapr.NewMemory(kind)
			s := httptest.NewServer(dapr.Sidecar(m))
			t.Cleanup(s.Close)
			test(t, newTown(t, daprclient.New(daprclient.Options{URL: s.URL, Store: dapr.Component})), m)
		})
	}
}

func TestAStreamMovesFromOneOwnerToTheNext(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, w *town, m *dapr.Memory) {
		a, b := w.process(nil), w.process(nil)
		w.claim(a, "", "one")
		got, err := publish(t.Context(), a, "one", note(1))
		require.NoError(t, err)
		require.Equal(t, fence.Receipt{Position: 1, Epoch: 1, Number: 1}, got, "delivered before the call returns (P11)")
		_, err = b.Set(t.Context(), stream, change("", "two", true))
		requireRefused(t, fence.Aborted, err)
		w.claim(b, "one", "two")
		_, err = publish(t.Context(), a, "one", note(2))
		requireRefused(t, fence.FailedPrecondition, err)
		got, err = publish(t.Context(), a, "one", note(1))
		require.NoError(t, err)
		require.Equal(t, fence.Receipt{Duplicate: true, Position: 1, Reason: "duplicate: already have this event"}, got)
		got, err = publish(t.Context(), b, "two", note(3))
		require.NoError(t, err)
		require.Equal(t, fence.Receipt{Position: 2, Epoch: 2, Number: 2}, got)
		w.sink.store.Append(t.Context(), []store.Write{{Event: storetest.Draft{Kind: 0, At: 100}.Event()}})
		got, err = publish(t.Context(), b, "two", storetest.Draft{Kind: 0, At: 99}.Event())
		require.NoError(t, err)
		require.True(t, got.Refused)
		require.Equal(t, "duplicate: older", got.Reason)
		require.Zero(t, got.Number)
		_, err = b.Set(t.Context(), stream, change("two", "two", false))
		require.NoError(t, err)
		_, err = publish(t.Context(), b, "two", note(4))
		requireRefused(t, fence.FailedPrecondition, err)
		v := w.view()
		require.Equal(t, []any{uint64(2), uint64(3), false, 0}, []any{v.Epoch, v.Next, v.Active, v.Pending})
		require.Zero(t, m.Keys("item"), "nothing is left behind")
	})
}

// P1: of claims that race exactly one wins.
func TestOfManyClaimsOneWins(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, w *town, _ *dapr.Memory) {
		const racers = 10
		won := make(chan string, racers)
		var g errgroup.Group
		for _, token := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
			e := w.process(nil)
			g.Go(func() error {
				if _, err := e.Set(t.Context(), stream, change("", token, true)); err == nil {
					won <- token
				} else if !store.Refused(err) {
					return err
				}
				return nil
			})
		}
		require.NoError(t, g.Wait())
		require.Len(t, won, 1)
		require.Equal(t, fence.TokenOf(<-won), w.view().Token)
	})
}

// P8: the log has the frames in the order of their numbers, without a hole, whichever
// process admitted and whichever delivered them.
func TestFramesOfManyProcessesHaveOneOrder(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, w *town, m *dapr.Memory) {
		engines := []*kv.Engine{w.process(nil), w.process(nil), w.process(nil)}
		w.claim(engines[0], "", "one")
		const each = 20
		numbers := make(chan [2]uint64, 3*each)
		var g errgroup.Group
		for i, e := range engines {
			g.Go(func() error {
				for n := range each {
					got, err := publish(t.Context(), e, "one", note(100*i+n))
					if err != nil {
						return err
					}
					numbers <- [2]uint64{got.Position, got.Number}
				}
				return nil
			})
		}
		require.NoError(t, g.Wait())
		close(numbers)
		known := 0
		for n := range numbers {
			if n[1] > 0 {
				require.Equal(t, n[0], n[1], "nothing else is in this log")
				known++
			}
		}
		require.Positive(t, known)
		require.Len(t, w.log(), 3*each)
		require.EqualValues(t, 3*each+1, w.view().Next)
		require.Zero(t, m.Keys("item"))
	})
}

// P9: a stream that is full refuses, and others are not touched by it.
func TestAFullStreamRefusesAndOthersGoOn(t *testing.T) {
	t.Parallel()
	const most = 20
	require.Equal(t, 1000, kv.MaxPending)
	m := dapr.NewMemory(dapr.Redis)
	w := newTown(t, m)
	e := kv.New(kv.Options{KV: m, Sink: w.sink, MaxPending: most})
	w.claim(e, "", "one")
	w.sink.fail(note(0))
	for n := range most {
		_, err := publish(t.Context(), e, "one", note(n))
		require.ErrorIs(t, err, errSink)
	}
	_, err := publish(t.Context(), e, "one", note(most))
	requireRefused(t, fence.ResourceExhausted, err)
	require.Equal(t, most, m.Keys("item"))
	other := fence.Stream{Owner: stream.Owner, Name: "other"}
	_, err = e.Set(t.Context(), other, change("", "one", true))
	require.NoError(t, err)
	got, err := e.Publish(t.Context(), other, fence.TokenOf("one"), nil, note(-1))
	require.NoError(t, err)
	require.Equal(t, uint64(1), got.Number)
	require.Equal(t, most, w.view().Pending)
	w.sink.fail()
	require.NoError(t, e.Sweep(t.Context()))
	require.Len(t, w.log(), most+1)
	require.Zero(t, w.view().Pending)
}

// P10: a frame that cannot be delivered stays first; those before it are not repeated.
func TestAFailedDeliveryKeepsItsFrameFirst(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t, dapr.NewMemory(kind))
			e := w.process(nil)
			w.claim(e, "", "one")
			_, err := publish(t.Context(), e, "one", note(1))
			require.NoError(t, err)
			w.sink.fail(note(2))
			for _, n := range []int{2, 3, 2, 4} {
				_, err = publish(t.Context(), e, "one", note(n))
				require.ErrorIs(t, err, errSink)
			}
			require.Equal(t, []string{"1"}, w.log())
			require.Equal(t, 3, w.view().Pending, "what waits already is not admitted again (P16)")
			w.sink.fail()
			got, err := publish(t.Context(), w.process(nil), "one", note(4))
			require.NoError(t, err)
			require.Equal(t, fence.Receipt{Position: 4, Epoch: 1, Number: 4}, got)
			require.Equal(t, []string{"1", "2", "3", "4"}, w.log())
			require.Equal(t, 1, w.sink.times(note(1)))
			require.Equal(t, 1, w.sink.times(note(4)))
		})
	}
}

// P13.
func TestAStoreThatCannotKeepFencesIsRefused(t *testing.T) {
	t.Parallel()
	for _, missing := range [][]string{{"ETAG"}, {"TRANSACTIONAL"}, {"ETAG", "TRANSACTIONAL"}} {
		s := httptest.NewServer(dapr.Sidecar(dapr.NewMemory(dapr.Atomic, missing...)))
		t.Cleanup(s.Close)
		w := newTown(t, daprclient.New(daprclient.Options{URL: s.URL, Store: dapr.Component}))
		e := w.process(nil)
		_, claimErr := e.Set(t.Context(), stream, change("", "one", true))
		_, publishErr := publish(t.Context(), e, "one", note(1))
		_, lookErr := e.Look(t.Context(), stream)
		for _, err := range []error{claimErr, publishErr, lookErr, e.Sweep(t.Context())} {
			requireRefused(t, fence.FailedPrecondition, err)
			for _, name := range missing {
				require.ErrorContains(t, err, name)
			}
		}
	}
}

// An answer that is lost is not a change that did not happen.
func TestLostAnswersAreLookedUp(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, w *town, m *dapr.Memory) {
		e := w.process(nil)
		m.Lose(1)
		w.claim(e, "", "one")
		require.Equal(t, uint64(1), w.view().Epoch)
		for n := range 5 {
			m.Lose(n)
			got, err := publish(t.Context(), e, "one", note(n))
			require.NoError(t, err)
			require.EqualValues(t, n+1, got.Number)
		}
		m.Lose(0)
		require.Equal(t, []string{"0", "1", "2", "3", "4"}, w.log())
	})
}

// P12: fences that are done with go, and no others.
func TestTheSweepRemovesWhatIsDoneWith(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := dapr.NewMemory(kind)
				w := newTown(t, m)
				e := w.process(nil)
				at := func(name string) fence.Stream { return fence.Stream{Owner: stream.Owner, Name: name} }
				stuck := note(1)
				for _, name := range []string{"expired", "revoked", "pending", "active"} {
					_, err := e.Set(t.Context(), at(name), change("", "one", true))
					require.NoError(t, err)
				}
				_, err := e.Set(t.Context(), at("revoked"), change("one", "one", false))
				require.NoError(t, err)
				w.sink.fail(stuck)
				_, err = e.Publish(t.Context(), at("pending"), fence.TokenOf("one"), nil, stuck)
				require.ErrorIs(t, err, errSink)
				left := func() int { return m.Keys("stream-") }
				<-time.After(2 * lease)
				_, err = e.Set(t.Context(), at("active"), change("one", "one", true))
				require.NoError(t, err)
				_ = e.Sweep(t.Context()) // the frame is stuck
				require.Equal(t, 4, left(), "two leases, and not older")
				<-time.After(time.Second)
				require.Error(t, e.Sweep(t.Context()))
				require.Equal(t, 2, left())
				w.sink.fail()
				require.NoError(t, e.Sweep(t.Context()))
				require.Len(t, w.log(), 1)
				require.NoError(t, e.Sweep(t.Context()))
				require.Equal(t, 1, left())
				<-time.After(2 * lease)
				require.NoError(t, e.Sweep(t.Context()))
				require.NoError(t, e.Sweep(t.Context()))
				require.Zero(t, left())
				_, err = e.Set(t.Context(), at("active"), change("", "two", true))
				require.NoError(t, err)
			})
		})
	}
}
