package cluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/regress/cluster"
	"fencepost/regress/postgres"
	"fencepost/relay/wire"
)

// behind runs a round in which the reader's replica cannot follow the log while the reader
// is removed and more is said.
func behind(t *testing.T, c *cluster.Cluster, test func(r *round, reader, witness, writer *watcher)) {
	t.Helper()
	r := &round{
		t: t, cluster: c, how: revocations[0], group: "behind", reader: readerKeys,
		publisher: c.Replicas[0], reading: c.Replicas[1], revoker: c.Replicas[2], behind: true,
	}
	r.found()
	reader, witness := r.listen()
	writer := watch(t, r.publisher, writerKey)
	r.sayMany(writer)
	for _, w := range []*watcher{reader, witness} {
		w.hears("group", r.published[len(r.published)-1])
	}
	test(r, reader, witness, writer)
	_ = writer.end()
}

func (r *round) sayMany(w *watcher) {
	for range 20 {
		require.NoError(r.t, r.say(w))
	}
}

// A replica that is stopped while a reader of its own is removed elsewhere, and more is
// said, shows it nothing of that when it goes on; neither to a REQ that it finds waiting.
func TestAReplicaThatSleptThroughARevocationShowsNothingAboveIt(t *testing.T) {
	t.Parallel()
	c, _ := start(t, 3, cluster.Options{})
	behind(t, c, func(r *round, reader, witness, writer *watcher) {
		require.NoError(t, r.reading.Stop())
		r.how.revoke(r)
		revoked := r.position()
		r.sayMany(writer)
		got, _, _ := reader.all()
		require.NoError(t, reader.send("again", r.messages()))
		require.NoError(t, cluster.Wait(t.Context(), size(time.Second, 10*time.Second)))
		require.NoError(t, r.reading.Continue())
		again := reader.answered(len(got), "again")
		from := r.catchUp(reader, witness)
		require.NoError(t, r.say(writer))
		witness.hears("caught up", r.published[len(r.published)-1])
		reader.barrier()
		r.judge(reader, from, revoked, again)
		r.requireToldOrAll(witness)
	})
}

// catchUp has the witness subscribe anew, which works once the replica has applied what the
// log had. It returns the place in what the reader got from which on nothing may come.
func (r *round) catchUp(reader, witness *watcher) int {
	witness.subscribe("caught up", r.messages())
	witness.hears("caught up", r.published[len(r.published)-1])
	return reader.barrier()
}

// requireToldOrAll requires that each subscription of the witness heard everything, or was
// ended with an error.
func (r *round) requireToldOrAll(witness *watcher) {
	heard, closed := map[string]int{}, map[string]string{}
	for _, m := range witness.end() {
		switch {
		case m.Verb == "EOSE":
			delete(closed, m.Sub)
		case m.Verb == "CLOSED":
			closed[m.Sub] = m.Text
		case m.Verb == "EVENT" && r.isOurs(m.Event):
			heard[m.Sub]++
		}
	}
	r.t.Logf("of %d events the witness heard %v; CLOSED %q", len(r.published), heard, closed)
	for _, sub := range []string{"group", "broad", "caught up"} {
		require.True(r.t, heard[sub] == len(r.published) || strings.HasPrefix(closed[sub], "error: "), sub)
	}
}

// A replica that has lost its database ends what is private, since it cannot know who may
// still read it (O18), and leaves the rest. What was revoked meanwhile stays closed.
func TestAReplicaWithoutItsDatabaseShowsNothingPrivate(t *testing.T) {
	t.Parallel()
	c, _ := start(t, 3, cluster.Options{Proxied: true})
	behind(t, c, func(r *round, reader, witness, writer *watcher) {
		r.reading.Proxy.Set(postgres.BlackHole)
		began := time.Now()
		r.how.revoke(r)
		revoked := r.position()
		r.sayMany(writer)
		for _, w := range []*watcher{reader, witness} {
			i := w.await(0, func(m wire.RelayMessage) bool {
				return m.Sub == "group" && m.Verb == "CLOSED" && strings.HasPrefix(m.Text, "error: ")
			})
			require.GreaterOrEqual(t, i, 0, "the connection stays")
		}
		t.Logf("ended %s after the cut", seconds(time.Since(began)))
		r.reading.Proxy.Set(postgres.None)
		from := r.catchUp(reader, witness)
		again := reader.ask("again", r.messages())
		r.judge(reader, from, revoked, again)
		r.requireToldOrAll(witness)
	})
}
