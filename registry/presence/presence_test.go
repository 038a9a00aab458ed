package presence_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"fencepost/registry/presence"
	"fencepost/registry/session"
	"fencepost/relay/store"
)

var windows = presence.Windows{Idle: time.Minute, Stale: 2 * time.Minute}

const key = "aa00000000000000000000000000000000000000000000000000000000000000"

var first, second, other = store.Node{Name: "a", Incarnation: "01"}, store.Node{Name: "a", Incarnation: "02"}, store.Node{Name: "b", Incarnation: "03"}

// index is an index whose clock the test moves.
type index struct {
	*testing.T
	*session.Memory
	at time.Time
}

func newIndex(t *testing.T) *index {
	i := &index{T: t, at: time.Unix(1000, 0)}
	i.Memory = session.NewMemory(func() time.Time { return i.at })
	return i
}

func (i *index) after(d time.Duration) { i.at = i.at.Add(d) }

func (i *index) report(node store.Node, change string) {
	i.Helper()
	r := store.SessionReport{Node: node, Stopped: change == "stops"}
	switch change {
	case "opens", "is active":
		r.Open = []store.SessionOpen{{Conn: 1, Key: key}}
	case "ends":
		r.Ended = []store.SessionRef{{Conn: 1, Key: key}}
	}
	_, err := i.Report(i.Context(), r)
	require.NoError(i, err)
}

func (i *index) presence() presence.Presence {
	i.Helper()
	seen, err := i.OfKeys(context.Background(), i.at, []string{key}, 10)
	require.NoError(i, err)
	return presence.Of(seen, windows)
}

func TestPresenceIsWhatWasReportedLast(t *testing.T) {
	t.Parallel()
	type step struct {
		after  time.Duration
		node   store.Node
		change string
		want   presence.State
	}
	for name, steps := range map[string][]step{
		"online, idle, online, offline": {
			{0, first, "", presence.Unknown},
			{0, first, "opens", presence.Online},
			{time.Minute, first, "", presence.Idle},
			{0, first, "is active", presence.Online},
			{0, first, "ends", presence.Offline},
		},
		"a node that is killed": {
			{0, first, "opens", presence.Online},
			{2 * time.Minute, other, "", presence.Stale},
			{20 * time.Hour, other, "", presence.Stale},
		},
		"a node that is cut off and comes back": {
			{0, first, "opens", presence.Online},
			{time.Hour, other, "", presence.Stale},
			{0, first, "is active", presence.Online},
		},
		"a node that starts again is not the one before": {
			{0, first, "opens", presence.Online},
			{0, second, "", presence.Stale},
			{time.Hour, second, "", presence.Stale},
			{0, second, "opens", presence.Online},
		},
		"a node that ends in order": {
			{0, first, "opens", presence.Online},
			{0, first, "stops", presence.Offline},
			{time.Hour, other, "", presence.Offline},
		},
		"an end says nothing once its node is silent": {
			{0, first, "opens", presence.Online},
			{0, first, "ends", presence.Offline},
			{2 * time.Minute, other, "", presence.Stale},
			{0, first, "", presence.Offline},
		},
		"moved to another node": {
			{0, first, "opens", presence.Online},
			{0, other, "opens", presence.Online},
			{0, first, "ends", presence.Online},
			{0, other, "ends", presence.Offline},
		},
		"a session on a node that was killed outweighs an end elsewhere": {
			{0, first, "opens", presence.Online},
			{2 * time.Minute, other, "opens", presence.Online},
			{0, other, "ends", presence.Stale},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newIndex(t)
			for n, s := range steps {
				i.after(s.after)
				i.report(s.node, s.change)
				require.Equal(t, s.want, i.presence().State, "step %d", n+1)
			}
		})
	}
}

func TestPresenceTellsItsAge(t *testing.T) {
	t.Parallel()
	i := newIndex(t)
	i.report(first, "opens")
	active := i.at
	i.after(30 * time.Second)
	i.report(first, "")
	observed := i.at
	i.after(7 * time.Second)
	require.Equal(t, presence.Presence{State: presence.Online, AsOf: observed, Age: 7 * time.Second, Active: active}, i.presence())
	require.Equal(t, presence.Presence{State: presence.Unknown}, presence.Of(nil, windows))
}

// R9: whatever happens, Offline is said only when every session that was ever reported
// ended in a report, and never while a silent node may still have the user.
func TestOfflineComesFromReportsOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		i := newIndex(t)
		open := map[store.Node]bool{}
		var reported bool
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			node := rapid.SampledFrom([]store.Node{first, second, other}).Draw(r, "node")
			change := rapid.SampledFrom([]string{"", "opens", "is active", "ends", "stops", "silence"}).Draw(r, "change")
			i.after(rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, 3 * time.Minute}).Draw(r, "after"))
			switch change {
			case "opens", "is active":
				if open[node] { // connection numbers are never used again
					continue
				}
				if _, was := open[node]; was {
					continue
				}
				open[node], reported = true, true
			case "ends", "stops":
				if _, was := open[node]; was {
					open[node] = false
				}
			}
			if change != "silence" {
				i.report(node, change)
			}
			somewhere := open[first] || open[second] || open[other]
			switch got := i.presence().State; {
			case !reported:
				require.Equal(t, presence.Unknown, got)
			case somewhere:
				require.NotContains(t, []presence.State{presence.Offline, presence.Unknown}, got)
			default:
				require.Contains(t, []presence.State{presence.Offline, presence.Stale}, got)
			}
		}
	})
}
