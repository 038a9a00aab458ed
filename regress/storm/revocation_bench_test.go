package storm_test

import (
	"context"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
)

const (
	membersOfCrowd = 10_000
	peopleOnline   = 2_000
)

// BenchmarkRevocation cuts, in a group of 10,000 with 2,000 subscribers over real
// sockets, one member off and all who are no members. ms/cut is from when the
// follower has picked the row up until the last subscription has ended, ms/applied
// from before the commit until the row is in force, ms/told until the last client
// has its CLOSED.
func BenchmarkRevocation(b *testing.B) {
	b.Run("one member removed", func(b *testing.B) {
		c := gather(b, true, membersOfCrowd, peopleOnline, peopleOnline)
		n := 0
		c.measure(b, func() (control.Row, int) {
			n++
			return control.Row{Type: control.GroupRemoved, Group: gathering, Key: c.people[n%peopleOnline].key, Stamp: 2}, 1
		}, func() {
			p := c.people[n%peopleOnline]
			c.commit(b, control.Row{Type: control.GroupPut, Group: gathering, Key: p.key, Stamp: 2})
			require.NoError(b, c.subscribe(b.Context(), p))
			c.await(b, &c.eoses, int64(peopleOnline+n))
		})
	})
	b.Run("turned private with 1000 strangers", func(b *testing.B) {
		const strangers = peopleOnline / 2
		c := gather(b, false, membersOfCrowd, peopleOnline, peopleOnline-strangers)
		n := 0
		c.measure(b, func() (control.Row, int) {
			n++
			return control.Row{Type: control.GroupEdited, Group: gathering, Tags: nostr.Tags{{"private"}}, Stamp: 2}, strangers
		}, func() {
			c.commit(b, control.Row{Type: control.GroupEdited, Group: gathering, Stamp: 2})
			for _, p := range c.people[peopleOnline-strangers:] {
				require.NoError(b, c.subscribe(b.Context(), p))
			}
			c.await(b, &c.eoses, int64(peopleOnline+n*strangers))
		})
	})
}

// measure has revoke take something from some people, and restore give it back.
func (c *crowd) measure(b *testing.B, revoke func() (row control.Row, ends int), restore func()) {
	var cut, applied, told, worst time.Duration
	for b.Loop() {
		row, ends := revoke()
		ended, begin := c.ends.Load(), time.Now()
		c.commit(b, row)
		applied += time.Since(begin)
		c.await(b, &c.ends, ended+int64(ends))
		told += time.Since(begin)
		b.StopTimer()
		took := time.Duration(c.timed.took.Load())
		cut, worst = cut+took, max(worst, took)
		require.Equal(b, ended+int64(ends), c.ends.Load())
		restore()
		b.StartTimer()
	}
	for name, d := range map[string]time.Duration{"ms/cut": cut, "ms/applied": applied, "ms/told": told} {
		b.ReportMetric(float64(d.Microseconds())/1000/float64(b.N), name)
	}
	b.ReportMetric(float64(worst.Microseconds())/1000, "ms/worst-cut")
}

// BenchmarkFanoutDuringRevocations passes events on to 2,000 members of a group of
// 10,000 as fast as they take them, for a while as it is and for a while in which
// members are removed one after another, at most 50 a second, and compares the
// frames that came. ms/slow is the longest time that eight events took from before
// their commit to four of the members.
func BenchmarkFanoutDuringRevocations(b *testing.B) {
	const window, every = 2 * time.Second, 20 * time.Millisecond
	c := gather(b, true, membersOfCrowd, peopleOnline, peopleOnline)
	next := peopleOnline - 1 // to be removed
	var before, during, ratio, calmSlow, slow float64
	for b.Loop() {
		rate, longest := c.flow(b, window, nil)
		before, calmSlow = before+rate, max(calmSlow, longest)
		from := next
		calm := rate
		rate, longest = c.flow(b, window, func(ctx context.Context) {
			tick := time.NewTicker(every)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					c.commit(b, control.Row{Type: control.GroupRemoved, Group: gathering, Key: c.people[next].key, Stamp: 2})
					next--
				case <-ctx.Done():
					return
				}
			}
		})
		during, ratio, slow = during+rate, ratio+rate/calm, max(slow, longest)
		b.StopTimer()
		eoses := c.eoses.Load()
		for _, p := range c.people[next+1 : from+1] {
			c.commit(b, control.Row{Type: control.GroupPut, Group: gathering, Key: p.key, Stamp: 2})
			require.NoError(b, c.subscribe(b.Context(), p))
		}
		c.await(b, &c.eoses, eoses+int64(from-next))
		b.ReportMetric(float64(from-next), "removed")
		next = peopleOnline - 1
		b.StartTimer()
	}
	n := float64(b.N)
	b.ReportMetric(before/n, "frames/s-before")
	b.ReportMetric(during/n, "frames/s-during")
	b.ReportMetric(ratio/n, "ratio")
	b.ReportMetric(calmSlow, "ms/slow-before")
	b.ReportMetric(slow, "ms/slow-during")
}

// flow publishes for a while, a few events at a time, each time four members have
// heard the ones before. It returns how many frames came a second, and the longest
// time that this took, in milliseconds.
func (c *crowd) flow(b *testing.B, length time.Duration, beside func(ctx context.Context)) (rate, slow float64) {
	const few = 8
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if beside != nil {
			beside(ctx)
		}
	}()
	four := []*person{c.people[0], c.people[1], c.people[2], c.people[3]}
	begin, first := time.Now(), c.events.Load()
	for time.Since(begin) < length {
		heard := make([]int64, len(four))
		for i, p := range four {
			heard[i] = p.heard.Load()
		}
		var writes []store.Write
		for range few {
			c.serial++
			writes = append(writes, store.Write{Event: storetest.Draft{
				Key: 1, At: c.serial, Kind: 9, Tags: nostr.Tags{{"h", gathering}}, Content: "a message of the group, as long as most",
			}.Event()})
		}
		sent := time.Now()
		for _, out := range c.parts.store.Append(b.Context(), writes) {
			require.NoError(b, out.Err)
		}
		for i, p := range four {
			c.await(b, &p.heard, heard[i]+few)
		}
		slow = max(slow, float64(time.Since(sent).Microseconds())/1000)
	}
	rate = float64(c.events.Load()-first) / time.Since(begin).Seconds()
	cancel()
	<-done
	return rate, slow
}
