package cluster_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/regress/cluster"
	"fencepost/relay/wire"
)

// Keys of those who act. A reader has one of its own in every round.
const (
	operatorKey = 7
	adminKey    = 11
	writerKey   = 12
	witnessKey  = 13
	readerKeys  = 10_000
)

const said = 9 // the kind of what is published in a group

// revocation is one way to lose what one may read.
type revocation struct {
	name    string
	walled  bool // the relay is for members only
	public  bool // the group is private only afterwards
	outside bool // the reader is no member of the group
	cuts    bool // connections end, not only subscriptions
	revoke  func(r *round)
}

var revocations = []revocation{
	{name: "removed by an admin", revoke: func(r *round) {
		r.request(r.revoker, adminKey, 9001, nostr.Tag{"p", cluster.Public(r.reader)})
	}},
	{name: "left", revoke: func(r *round) { r.request(r.revoker, r.reader, 9022) }},
	{name: "group turned private", public: true, outside: true, revoke: func(r *round) {
		r.request(r.revoker, adminKey, 9002, nostr.Tag{"private"})
	}},
	{name: "banned", cuts: true, revoke: func(r *round) { r.manage(r.revoker, "banpubkey", cluster.Public(r.reader)) }},
	{name: "membership of the relay ended", walled: true, public: true, outside: true, revoke: func(r *round) {
		r.manage(r.revoker, "unallowpubkey", cluster.Public(r.reader))
	}},
}

// Who publishes, who reads and who revokes are on three different replicas, in every
// order. No event above the revocation ever reaches the revoked reader, on any
// subscription; once its replica has applied the revocation nothing does (G4).
func TestRevocationsHoldAcrossReplicas(t *testing.T) {
	t.Parallel()
	orders := [][3]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}}
	for _, walled := range []bool{false, true} {
		env := []string{"FENCEPOST_RELAY_PUBKEY=" + cluster.Public(operatorKey), "FENCEPOST_GROUPS_MAX_PER_KEY=1000"}
		if walled {
			env = append(env, "FENCEPOST_MEMBERSHIP_REQUIRE=all")
		}
		c, _ := start(t, 3, cluster.Options{Env: env})
		n := 0
		for _, how := range revocations {
			if how.walled != walled {
				continue
			}
			for k := range size(1, 3) * len(orders) {
				order := orders[k%len(orders)]
				t.Run(fmt.Sprintf("%s/publisher %d, reader %d, revoker %d", how.name, order[0], order[1], order[2]), func(t *testing.T) {
					n++
					r := &round{
						t: t, cluster: c, how: how, group: fmt.Sprintf("g%d", n), reader: readerKeys + n,
						publisher: c.Replicas[order[0]], reading: c.Replicas[order[1]], revoker: c.Replicas[order[2]],
					}
					r.run()
				})
			}
		}
	}
}

// round is one revocation.
type round struct {
	t       *testing.T
	cluster *cluster.Cluster
	how     revocation
	group   string
	reader  int // number of the reader's key

	publisher, reading, revoker *cluster.Replica

	behind    bool          // the reader's replica may end what is private before it knows of the revocation
	published []*wire.Event // in the group, accepted
	serial    atomic.Int64  // makes what is sent unique
}

func (r *round) run() {
	r.found()
	reader, witness := r.listen()
	before, after := size(40, 150), 20
	writers := watch(r.t, r.publisher, writerKey)
	revoked := make(chan struct{})
	var g errgroup.Group
	g.Go(func() error { // publishes through the revocation, and then some more
		for left := after; left > 0; {
			select {
			case <-revoked:
				left--
			default:
			}
			if err := r.say(writers); err != nil {
				return err
			}
		}
		return nil
	})
	witness.await(0, countdown(before))
	r.how.revoke(r)
	head := r.position()
	close(revoked)
	require.NoError(r.t, g.Wait())
	last := r.published[len(r.published)-1]
	witness.hears("group", last) // so this replica has applied what comes before it
	from := reader.barrier()
	require.NoError(r.t, r.say(writers))
	last = r.published[len(r.published)-1]
	witness.hears("group", last)
	reader.barrier()
	again := reader.ask("again", r.messages())
	r.judge(reader, from, head, again)
	r.requireAll(witness)
	_ = writers.end()
}

// messages is what is said in the group.
func (r *round) messages() nostr.Filter {
	return nostr.Filter{Kinds: []int{said}, Tags: nostr.TagMap{"h": {r.group}}}
}

// listen subscribes the reader and the witness to the group, and to everything.
func (r *round) listen() (reader, witness *watcher) {
	reader, witness = watch(r.t, r.reading, r.reader), watch(r.t, r.reading, witnessKey)
	for _, w := range []*watcher{reader, witness} {
		w.subscribe("group", r.messages())
		w.subscribe("broad", nostr.Filter{Kinds: []int{said}})
	}
	return reader, witness
}

// countdown is true for the n-th event.
func countdown(n int) func(wire.RelayMessage) bool {
	return func(m wire.RelayMessage) bool {
		if m.Verb == "EVENT" && m.Sub == "group" {
			n--
		}
		return n <= 0
	}
}

// found makes the group and lets in whom it is for.
func (r *round) found() {
	tags := nostr.Tags{}
	if !r.how.public {
		tags = nostr.Tags{{"private"}, {"closed"}}
	}
	if r.how.walled {
		for _, key := range []int{adminKey, writerKey, witnessKey, r.reader} {
			r.manage(r.revoker, "allowpubkey", cluster.Public(key))
		}
	}
	r.request(r.revoker, adminKey, 9007, tags...)
	members := nostr.Tags{{"p", cluster.Public(writerKey)}, {"p", cluster.Public(witnessKey)}}
	if !r.how.outside {
		members = append(members, nostr.Tag{"p", cluster.Public(r.reader)})
	}
	r.request(r.revoker, adminKey, 9000, members...)
}

// say publishes one event in the group. The replica may not know yet that there is the
// group, or that the writer is in it.
func (r *round) say(w *watcher) error {
	e, err := cluster.Event(writerKey, said, fmt.Sprintf("%s %d", r.group, r.serial.Add(1)), nostr.Tag{"h", r.group})
	if err != nil {
		return err
	}
	if err := insist(r.t.Context(), w.conn, e); err != nil {
		return err
	}
	r.published = append(r.published, e)
	return nil
}

// request sends a request of NIP-29, which must be granted, on a connection of its own.
func (r *round) request(on *cluster.Replica, key, kind int, tags ...nostr.Tag) {
	r.t.Helper()
	e, err := cluster.Event(key, kind, fmt.Sprint(r.serial.Add(1)), append([]nostr.Tag{{"h", r.group}}, tags...)...)
	require.NoError(r.t, err)
	w := watch(r.t, on, key)
	require.NoError(r.t, insist(r.t.Context(), w.conn, e), "kind %d", kind)
	w.end()
}

// manage carries out one method of NIP-86.
func (r *round) manage(on *cluster.Replica, method, param string) {
	r.t.Helper()
	require.NoError(r.t, on.Manage(r.t.Context(), cluster.Secret(operatorKey), method, param))
}

// position returns where the log has the newest change of permissions: the revocation.
func (r *round) position() (position int64) {
	o := operate(r.t, r.cluster.Database)
	require.NoError(r.t, o.conn.QueryRow(r.t.Context(), "SELECT control FROM log_head").Scan(&position))
	return position
}

// judge says whether the reader was sent what it had no right to. from is the place from
// which on nothing of the group may come; again is that of the answer to another REQ.
func (r *round) judge(reader *watcher, from int, revoked int64, again int) {
	got := reader.end()
	log, err := cluster.ReadLog(r.t.Context(), r.cluster.Database)
	require.NoError(r.t, err)
	heard, closed := map[string][]int64{}, map[string]string{}
	for i, m := range got {
		switch {
		case m.Verb == "EOSE":
			delete(closed, m.Sub) // refused before, since the replica did not know the reader yet
		case m.Verb == "CLOSED":
			closed[m.Sub] = m.Text
		case m.Verb == "EVENT" && r.isOurs(m.Event):
			position, _ := log.Position(m.Event.ID)
			require.Less(r.t, position, revoked, "%s, message %d of %d: an event above the revocation", m.Sub, i, len(got))
			require.Less(r.t, i, from, "%s: position %d after the replica had applied the revocation at %d", m.Sub, position, revoked)
			require.NotContains(r.t, closed, m.Sub, "an event after CLOSED")
			heard[m.Sub] = append(heard[m.Sub], position)
		}
	}
	for sub, positions := range heard {
		r.requireDense(log, sub, positions)
	}
	_, _, over := reader.all()
	r.t.Logf("revoked at %d; the reader heard %d events below it, the log has %d of the group; CLOSED %q; the connection ended with %v",
		revoked, len(heard["group"]), len(r.published), closed, over)
	if r.how.cuts {
		require.Less(r.t, again, 0, "the connection is cut")
		require.Error(r.t, r.returns(), "and cannot come back")
		return
	}
	require.Contains(r.t, closed, "group")
	told := strings.HasPrefix(closed["group"], "restricted: ") || r.behind && strings.HasPrefix(closed["group"], "error: ")
	require.True(r.t, told, closed["group"])
	require.Equal(r.t, "CLOSED", got[again].Verb, "what may not be read is refused")
	require.NotEmpty(r.t, heard["group"])
}

// returns connects as the reader again.
func (r *round) returns() error {
	conn := dial(r.t, r.reading)
	w := &watcher{t: r.t, conn: conn}
	return w.authenticate(r.reader)
}

func (r *round) isOurs(e *wire.Event) bool {
	h := e.Tags.Find("h")
	return len(h) > 1 && h[1] == r.group
}

// requireDense requires that a reader heard all that there is between its first and its
// last event, in order.
func (r *round) requireDense(log *cluster.Log, sub string, positions []int64) {
	var want []int64
	for _, e := range r.published {
		position, _ := log.Position(e.ID)
		if position >= positions[0] && position <= positions[len(positions)-1] {
			want = append(want, position)
		}
	}
	require.Equal(r.t, want, positions, "%s", sub)
}

// requireAll requires that the witness heard everything, once.
func (r *round) requireAll(witness *watcher) {
	times := map[string]int{}
	for _, m := range witness.end() {
		if m.Verb == "EVENT" && r.isOurs(m.Event) {
			times[m.Event.ID]++
		}
	}
	for i, e := range r.published {
		require.Equal(r.t, 2, times[e.ID], "event %d of %d, on two subscriptions", i, len(r.published))
	}
}
