package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/lifecycle/fence"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Elapser is a store that does not judge leases by the clock that it was opened with.
type Elapser interface {
	// Elapse makes leases end sooner by d.
	Elapse(ctx context.Context, d time.Duration) error
}

// lease is that of the fences here: long, since a store may have a clock of its own.
const lease = time.Hour

// RunFences holds the stores that open makes to what the contract says of fences.
func RunFences(t *testing.T, open Open) {
	for name, run := range fenceCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, newSubject(t, open))
		})
	}
}

var fenceCases = map[string]func(t *testing.T, s *subject){
	"an absent fence admits nothing": func(t *testing.T, s *subject) {
		state, _, err := s.Fence(t.Context(), stream("a"))
		require.NoError(t, err)
		require.False(t, state.Exists())
		s.refuseFrame(fence.FailedPrecondition, 0, "a", "one", notes(0, 1)[0])
		require.Empty(t, s.log())
	},
	"frames are numbered over all owners": func(t *testing.T, s *subject) {
		n := notes(0, 6)
		s.claim("a", "", "one")
		require.Equal(t, store.Outcome{Position: 1, Last: 1, Frame: store.Frame{Epoch: 1, Number: 1}}, s.frame("a", "one", n[0]))
		s.put(n[1])
		require.Equal(t, store.Frame{Epoch: 1, Number: 2}, s.frame("a", "one", n[2]).Frame)
		s.claim("a", "one", "two")
		s.refuseFrame(fence.FailedPrecondition, 2, "a", "one", n[3])
		require.Equal(t, store.Outcome{Position: 4, Last: 4, Frame: store.Frame{Epoch: 2, Number: 3}}, s.frame("a", "two", n[4]))
		s.claim("b", "", "one")
		require.Equal(t, store.Frame{Epoch: 1, Number: 1}, s.frame("b", "one", n[5]).Frame, "streams are apart")
		require.Len(t, s.log(), 5)
	},
	"what is not stored takes no number and renews nothing": func(t *testing.T, s *subject) {
		n := notes(0, 3)
		s.claim("a", "", "one")
		s.put(n[0], Draft{Kind: 0, At: 100}.Event())
		s.write(store.Write{Controls: []store.Control{{Scopes: []string{"relay"}}}, Ban: []string{n[1].ID}})
		before, _, err := s.Fence(t.Context(), stream("a"))
		require.NoError(t, err)
		s.pass(60)
		require.Equal(t, store.Outcome{Position: 1, Err: store.ErrDuplicate}, s.frame("a", "one", n[0]))
		require.Equal(t, store.Outcome{Position: 1, Err: store.ErrDuplicate}, s.frame("a", "never", n[0]), "P16: whoever asks")
		require.Equal(t, store.Outcome{Err: store.ErrSuperseded}, s.frame("a", "one", Draft{Kind: 0, At: 99}.Event()))
		require.Equal(t, store.Outcome{Err: store.ErrBanned}, s.frame("a", "one", n[1]))
		old := store.Write{Event: n[2], Terms: []store.Term{{Scope: "relay"}}, Fence: admission("a", "one")}
		require.ErrorIs(t, s.write(old).Err, store.ErrMoved)
		old.Fence.Token = fence.TokenOf("never")
		require.True(t, store.Refused(s.write(old).Err), "a fence comes before a moved term")
		after, _, err := s.Fence(t.Context(), stream("a"))
		require.NoError(t, err)
		require.Equal(t, before, after)
		require.Equal(t, uint64(1), s.frame("a", "one", n[2]).Frame.Number)
	},
	"a cursor is kept with the frame, and outlives its owner": func(t *testing.T, s *subject) {
		n := notes(0, 2)
		cursor := func() string {
			state, _, err := s.Fence(t.Context(), stream("a"))
			require.NoError(t, err)
			return string(state.Cursor)
		}
		at := func(token, cursor string) *store.Fence {
			f := admission("a", token)
			f.Cursor = []byte(cursor)
			return f
		}
		s.claim("a", "", "one")
		require.Empty(t, cursor())
		require.NoError(t, s.write(store.Write{Event: n[0], Fence: at("one", "first")}).Err)
		require.Equal(t, "first", cursor())
		require.ErrorIs(t, s.write(store.Write{Event: n[0], Fence: at("one", "again")}).Err, store.ErrDuplicate)
		require.Equal(t, "first", cursor(), "what is not stored changes nothing")
		require.Equal(t, store.Outcome{Frame: store.Frame{Epoch: 1}}, s.write(store.Write{Fence: at("one", "second")}), "without a frame")
		require.Equal(t, "second", cursor())
		s.frame("a", "one", n[1])
		s.claim("a", "one", "two")
		require.Equal(t, "second", cursor())
		requireFence(t, fence.FailedPrecondition, 2, s.write(store.Write{Fence: at("one", "late")}))
		require.NoError(t, s.write(store.Write{Fence: at("two", strings.Repeat("x", fence.MaxCursor))}).Err)
		require.Error(t, s.write(store.Write{Fence: at("two", strings.Repeat("x", fence.MaxCursor+1))}).Err)
		require.Len(t, cursor(), fence.MaxCursor)
	},
	"a write without an event takes no number": func(t *testing.T, s *subject) {
		s.claim("a", "", "one")
		w := store.Write{Controls: []store.Control{{Data: []byte("x")}}, Fence: admission("a", "one")}
		require.Equal(t, store.Outcome{Position: 1, Last: 1, Frame: store.Frame{Epoch: 1}}, s.write(w))
		w.Fence.Token = fence.TokenOf("two")
		require.True(t, store.Refused(s.write(w).Err))
		require.Len(t, s.log(), 1)
		require.Equal(t, uint64(1), s.frame("a", "one", Draft{Kind: 20001, At: start}.Event()).Frame.Number, "an ephemeral event takes one")
	},
	"writes of one call see those before them": func(t *testing.T, s *subject) {
		n := notes(0, 4)
		by := func(token string, e *wire.Event) store.Write {
			return store.Write{Event: e, Fence: admission("a", token)}
		}
		out := s.Append(t.Context(), []store.Write{
			by("one", n[0]), change("a", "", "one", true), by("one", n[1]), by("one", n[2]),
			change("a", "one", "two", true), by("one", n[3]), by("two", n[3]), change("a", "two", "two", false), by("two", n[0]),
		})
		var frames []store.Frame
		for i, o := range out {
			require.Equal(t, i == 0 || i == 5 || i == 8, store.Refused(o.Err), "%d: %v", i, o.Err)
			frames = append(frames, o.Frame)
		}
		require.Equal(t, []store.Frame{{}, {Epoch: 1}, {Epoch: 1, Number: 1}, {Epoch: 1, Number: 2}, {Epoch: 2}, {}, {Epoch: 2, Number: 3}, {Epoch: 2}, {}}, frames)
		require.Len(t, s.log(), 3)
		state, _, err := s.Fence(t.Context(), stream("a"))
		require.NoError(t, err)
		require.False(t, state.Active)
		require.Equal(t, fence.TokenOf("two"), state.Token)
		require.Equal(t, []fence.Mark{fence.Mark(fenceToken("one"))}, state.Used)
	},
	"a lease runs out, and an admission renews it": func(t *testing.T, s *subject) {
		n := notes(0, 2)
		s.claim("a", "", "one")
		s.elapse(lease - time.Minute)
		s.refuseClaim(fence.Aborted, 1, "a", "", "two")
		require.NoError(t, s.frame("a", "one", n[0]).Err)
		s.elapse(lease - time.Minute)
		s.refuseClaim(fence.Aborted, 1, "a", "", "two")
		s.elapse(time.Minute)
		state, now, err := s.Fence(t.Context(), stream("a"))
		require.NoError(t, err)
		require.True(t, state.Expired(now))
		require.NoError(t, s.frame("a", "one", n[1]).Err, "P3")
		s.refuseClaim(fence.Aborted, 1, "a", "", "two")
		s.elapse(lease)
		s.claim("a", "", "two")
		s.refuseFrame(fence.FailedPrecondition, 2, "a", "one", notes(5, 1)[0])
	},
	"of many claims one wins, and of its frames all": func(t *testing.T, s *subject) {
		const racers = 20
		won := make(chan int, racers)
		var g errgroup.Group
		for i := range racers {
			g.Go(func() error {
				out := s.Append(t.Context(), []store.Write{change("a", "", fmt.Sprint("token", i), true)})
				if out[0].Err == nil {
					won <- i
					return nil
				}
				if !store.Refused(out[0].Err) {
					return out[0].Err
				}
				return nil
			})
		}
		require.NoError(t, g.Wait())
		require.Len(t, won, 1)
		winner := <-won
		for i := range racers {
			out := s.frame("a", fmt.Sprint("token", i), notes(i, 1)[0])
			require.Equal(t, i != winner, store.Refused(out.Err))
		}
	},
	"a key has so many streams": func(t *testing.T, s *subject) {
		var all []store.Write
		for i := range store.MaxStreams {
			all = append(all, change(fmt.Sprint(i), "", "one", true))
		}
		for _, out := range s.Append(t.Context(), all[:200]) {
			require.NoError(t, out.Err)
		}
		for i, out := range s.Append(t.Context(), append(all[200:], change("more", "", "one", true))) {
			require.Equal(t, i == store.MaxStreams-200, store.Refused(out.Err))
		}
		s.refuseClaim(fence.ResourceExhausted, 0, "more", "", "one")
		s.claim("7", "one", "two")
		other := change("more", "", "one", true)
		other.Fence.Stream.Owner = Key(1)
		require.NoError(t, s.write(other).Err)
	},
	"what names no stream is an error": func(t *testing.T, s *subject) {
		for _, bad := range []fence.Stream{{}, {Owner: Key(0)}, {Owner: Key(0), Name: "a/b"}, {Owner: "x", Name: "a"}} {
			_, _, err := s.Fence(t.Context(), bad)
			require.Error(t, err)
			w := change("a", "", "one", true)
			w.Fence.Stream = bad
			require.Error(t, s.write(w).Err)
		}
		w := change("a", "", "one", true)
		w.Event = notes(0, 1)[0]
		require.Error(t, s.write(w).Err)
		require.Empty(t, s.log())
	},
}

func stream(name string) fence.Stream { return fence.Stream{Owner: Key(0), Name: name} }

func fenceToken(secret string) []byte {
	token := fence.TokenOf(secret)
	return token[:8]
}

func admission(name, token string) *store.Fence {
	return &store.Fence{Stream: stream(name), Token: fence.TokenOf(token)}
}

func change(name, expected, fresh string, active bool) store.Write {
	c := &fence.Change{Expected: fence.TokenOf(expected), New: fence.TokenOf(fresh), Active: active, Lease: lease}
	return store.Write{Fence: &store.Fence{Stream: stream(name), Change: c}}
}

// elapse makes leases end sooner by d, whatever clock judges them.
func (s *subject) elapse(d time.Duration) {
	s.t.Helper()
	if e, ok := s.Store.(Elapser); ok {
		require.NoError(s.t, e.Elapse(s.t.Context(), d))
		return
	}
	s.pass(int64(d / time.Second))
}

func (s *subject) claim(name, expected, fresh string) {
	s.t.Helper()
	require.NoError(s.t, s.write(change(name, expected, fresh, true)).Err)
}

func (s *subject) frame(name, token string, e *wire.Event) store.Outcome {
	s.t.Helper()
	return s.write(store.Write{Event: e, Fence: admission(name, token)})
}

func (s *subject) refuseClaim(code fence.Code, epoch uint64, name, expected, fresh string) {
	s.t.Helper()
	requireFence(s.t, code, epoch, s.write(change(name, expected, fresh, true)))
}

func (s *subject) refuseFrame(code fence.Code, epoch uint64, name, token string, e *wire.Event) {
	s.t.Helper()
	requireFence(s.t, code, epoch, s.frame(name, token, e))
}

func requireFence(t *testing.T, code fence.Code, epoch uint64, out store.Outcome) {
	t.Helper()
	var refusal *fence.Error
	require.ErrorAs(t, out.Err, &refusal)
	require.Equal(t, code, refusal.Code)
	require.Equal(t, epoch, refusal.Epoch)
	require.Equal(t, store.Outcome{Err: out.Err}, out)
}
