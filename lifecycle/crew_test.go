package lifecycle_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

// crewed are connections that share a crew; write is called with the number of the
// connection and what it has taken.
func crewed(t testing.TB, n int, write func(i int, frames []lifecycle.Frame)) []*lifecycle.Conn {
	t.Helper()
	crew := new(lifecycle.Crew)
	all := make([]*lifecycle.Conn, n)
	for i := range all {
		all[i] = newConn(t, func(o *lifecycle.Options) {
			o.Crew = crew
			o.Write = func(context.Context) (over bool) {
				for {
					frames, done := all[i].Take(nil, 1<<20)
					if len(frames) == 0 {
						return done
					}
					write(i, frames)
				}
			}
		})
	}
	t.Cleanup(func() { // before Finish
		for _, c := range all {
			c.Close(lifecycle.Cause{Code: 1000})
			<-c.Written()
		}
	})
	return all
}

// All are due at once, and some block at their first frame, whichever place they have.
func TestAWriterThatBlocksKeepsNobodyFromWriting(t *testing.T) {
	t.Parallel()
	const n = 4
	for blocked := range 1 << n {
		t.Run(strconv.FormatInt(int64(blocked), 2), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				var wrote [n]atomic.Int32
				all := crewed(t, n, func(i int, frames []lifecycle.Frame) {
					if blocked>>i&1 == 1 {
						<-release
					}
					wrote[i].Add(int32(len(frames)))
				})
				for round := range int32(3) { // later ones meet those that are blocked
					for _, c := range all {
						require.True(t, c.Notify(wire.AppendNotice(nil, why)))
					}
					synctest.Wait()
					for i := range all {
						want := round + 1
						if blocked>>i&1 == 1 {
							want = 0
						}
						require.Equal(t, want, wrote[i].Load(), "connection %d", i)
					}
				}
				close(release)
				synctest.Wait()
				for i := range all {
					require.EqualValues(t, 3, wrote[i].Load())
				}
			})
		})
	}
}

// A panic in one writer ends its connection, and the goroutine goes on.
func TestAPanicOfAWriterIsNoOtherConnectionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var wrote atomic.Int32
		all := crewed(t, 3, func(i int, _ []lifecycle.Frame) {
			if i == 1 {
				panic("boom")
			}
			wrote.Add(1)
		})
		for _, c := range all {
			c.Notify(wire.AppendNotice(nil, why))
		}
		<-all[1].Written()
		synctest.Wait()
		require.EqualValues(t, 2, wrote.Load())
		require.ErrorContains(t, <-all[1].Group().Failed(), "boom")
		require.NoError(t, all[0].Group().Context().Err())
	})
}

// Whatever comes when, each frame is written once and in order, by one goroutine at a
// time for each connection.
func TestACrewWritesEverythingOnceAndInOrder(t *testing.T) {
	t.Parallel()
	const conns, frames = 16, 2000
	var writing [conns]sync.Mutex
	wrote := make([][]string, conns)
	all := crewed(t, conns, func(i int, batch []lifecycle.Frame) {
		if !writing[i].TryLock() {
			panic("two goroutines write for one connection")
		}
		defer writing[i].Unlock()
		for _, f := range batch {
			wrote[i] = append(wrote[i], string(f.AppendTo(nil)))
		}
	})
	var g errgroup.Group
	for i, c := range all {
		g.Go(func() error {
			for n := range frames {
				a, err := c.ReserveAnswer(t.Context())
				if err != nil {
					return err
				}
				a.Send([]byte(strconv.Itoa(n)))
				if rand.N(8) == 0 { // another one of the crew may answer meanwhile
					all[(i+1)%conns].GiveUp()
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	for i, c := range all {
		c.Close(lifecycle.Cause{Code: 1000})
		<-c.Written()
		require.Len(t, wrote[i], frames)
		for n, text := range wrote[i] {
			require.Equal(t, strconv.Itoa(n), text)
		}
	}
}

// BenchmarkWake has the writers of 50 connections due at once, each with one frame: an
// event that all of them hear. Alone, each has a goroutine of its own.
func BenchmarkWake(b *testing.B) {
	for _, shared := range []bool{false, true} {
		b.Run("shared="+strconv.FormatBool(shared), func(b *testing.B) {
			const conns = 50
			crew := new(lifecycle.Crew)
			var all []*lifecycle.Conn
			var wrote sync.WaitGroup
			for range conns {
				var c *lifecycle.Conn
				var taken []lifecycle.Frame
				c = newConn(b, func(o *lifecycle.Options) {
					if shared {
						o.Crew = crew
					}
					o.Write = func(context.Context) (over bool) {
						for {
							frames, done := c.Take(taken[:0], 1<<20)
							taken = frames
							if len(frames) == 0 {
								return done
							}
							wrote.Add(-len(frames))
						}
					}
				})
				all = append(all, c)
			}
			frame := wire.AppendNotice(nil, why)
			b.ReportAllocs()
			for b.Loop() {
				wrote.Add(conns)
				for _, c := range all {
					c.Notify(frame)
				}
				wrote.Wait()
			}
			for _, c := range all {
				wrote.Add(1) // no more than that
				c.Close(lifecycle.Cause{Code: 1000})
				<-c.Written()
			}
		})
	}
}
