package cluster_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/regress/cluster"
	"fencepost/relay/wire"
)

const club = "club"

// Many clients leave and come back at random, to any of three replicas under load, of
// which one is killed again and again. Each is told exactly the changes that it was
// allowed to see, removals included, in the order of positions: no silent gap, and no
// position twice (R1, R4, R5).
func TestClientsResumeOnAnyReplicaWithoutAGap(t *testing.T) {
	c, _ := start(t, 3, cluster.Options{})
	foundClub(t, c.Replicas[0])
	clients := make([]*resumer, size(40, 200))
	for i := range clients {
		clients[i] = &resumer{replicas: c.Replicas, rng: rand.New(rand.NewPCG(1, uint64(i)))}
		if i%2 == 0 {
			clients[i].key = witnessKey // a member of the club
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), size(20*time.Second, 5*time.Minute))
	defer cancel()
	var publishing, resuming errgroup.Group
	ledger := cluster.NewLedger()
	for i, replica := range c.Replicas {
		publishing.Go(func() error { return publishAndDelete(ctx, replica, ledger, i) })
	}
	over, end := context.WithCancel(t.Context())
	defer end()
	for _, r := range clients {
		resuming.Go(func() error { return r.run(over) })
	}
	kills, err := killInTurn(ctx, c.Replicas)
	err = errors.Join(err, publishing.Wait())
	end() // what is published is all there is: the clients come to its end
	require.NoError(t, errors.Join(err, resuming.Wait()))
	judgeResumers(t, c.Database, ledger, clients, kills)
}

// foundClub makes a private group whose members are the writer and the witness.
func foundClub(t *testing.T, r *cluster.Replica) {
	t.Helper()
	w := watch(t, r, adminKey)
	for _, request := range []struct {
		kind int
		tags nostr.Tags
	}{
		{9007, nostr.Tags{{"private"}}},
		{9000, nostr.Tags{{"p", cluster.Public(writerKey)}, {"p", cluster.Public(witnessKey)}}},
	} {
		e, err := cluster.Event(adminKey, request.kind, "", append(nostr.Tags{{"h", club}}, request.tags...)...)
		require.NoError(t, err)
		require.NoError(t, insist(t.Context(), w.conn, e))
	}
	w.end()
}

// publishAndDelete publishes notes, posts to the club and deletions of what it has
// published, until ctx ends.
func publishAndDelete(ctx context.Context, r *cluster.Replica, ledger *cluster.Ledger, number int) error {
	rng := rand.New(rand.NewPCG(2, uint64(number)))
	key := publisher + number
	p := &cluster.Publisher{Replica: r, Ledger: ledger, Key: key}
	var made []*wire.Event
	for n := 0; ctx.Err() == nil; n++ {
		kind, tags := note, nostr.Tags{}
		switch {
		case len(made) > 20 && rng.IntN(5) == 0:
			kind, tags = nostr.KindDeletion, nostr.Tags{{"e", made[rng.IntN(len(made))].ID}}
		case rng.IntN(3) == 0:
			kind, tags = said, nostr.Tags{{"h", club}}
		}
		e, err := cluster.Event(key, kind, fmt.Sprint(number, " says ", n), tags...)
		if err != nil {
			return err
		}
		if err := p.Publish(ctx, e); err != nil {
			return err
		}
		if kind != nostr.KindDeletion {
			made = append(made, e)
		}
		_ = cluster.Wait(ctx, size(20*time.Millisecond, 10*time.Millisecond)) // the loop asks
	}
	return nil
}

// killInTurn kills a replica every few seconds and starts it again, until ctx ends.
func killInTurn(ctx context.Context, replicas []*cluster.Replica) (kills int, err error) {
	always := context.WithoutCancel(ctx)
	for ; ctx.Err() == nil; kills++ {
		if cluster.Wait(ctx, 4*time.Second) != nil {
			return kills, nil
		}
		victim := replicas[kills%len(replicas)]
		victim.Kill()
		_ = cluster.Wait(ctx, time.Second) // it is started again in any case
		if err := victim.Start(always); err != nil {
			return kills, err
		}
	}
	return kills, nil
}

// row is a row of the log, by a statement of this suite's own.
type row struct {
	position uint64
	kind     int
	id       string // of the event concerned
}

// The types of rows that feeds tell of.
const (
	rowRemoval = 3
	rowVoid    = 4
)

// readRows reads the log. sent are the ids that there are.
func readRows(ctx context.Context, database string, sent map[string]*wire.Event) (all []row, err error) {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	byPrefix := make(map[string]string, len(sent))
	for id := range sent {
		byPrefix[id[:16]] = id
	}
	rows, err := conn.Query(ctx, `SELECT position, type::int, prefix FROM log ORDER BY position`)
	if err != nil {
		return nil, err
	}
	var position int64
	var kind int
	var prefix []byte
	_, err = pgx.ForEachRow(rows, []any{&position, &kind, &prefix}, func() error {
		if id, ours := byPrefix[hex.EncodeToString(prefix)]; ours {
			all = append(all, row{uint64(position), kind, id})
		}
		return nil
	})
	return all, err
}

// judgeResumers compares what each client was told with the log.
func judgeResumers(t *testing.T, database string, ledger *cluster.Ledger, clients []*resumer, kills int) {
	t.Helper()
	sent := map[string]*wire.Event{}
	for _, s := range ledger.All() {
		sent[s.Event.ID] = s.Event
	}
	rows, err := readRows(t.Context(), database, sent)
	require.NoError(t, err)
	changes, removals, sessions := 0, 0, 0
	errs := map[string]int{}
	for i, r := range clients {
		require.Empty(t, judgeResumer(r, rows, sent), "client %d after %d sessions", i, r.sessions)
		sessions += r.sessions
		changes += len(r.told)
		for _, c := range r.told {
			if c.removed {
				removals++
			}
		}
		for text, n := range r.errs {
			errs[text] += n
		}
	}
	t.Logf("%d clients in %d sessions were told %d changes, %d of them removals, of %d rows; %d kills; 0 gaps, 0 twice; ERR %v",
		len(clients), sessions, changes, removals, len(rows), kills, errs)
	require.Positive(t, removals)
	require.Positive(t, kills)
}

// judgeResumer returns what is wrong with what one client was told.
func judgeResumer(r *resumer, rows []row, sent map[string]*wire.Event) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	heard := make(map[uint64]told, len(r.told))
	last := uint64(0)
	for _, c := range r.told {
		if c.position <= last {
			fault("position %d after %d", c.position, last)
		}
		last = c.position
		heard[c.position] = c
	}
	for _, x := range rows {
		c, was := heard[x.position]
		delete(heard, x.position)
		ev := sent[x.id]
		wanted := ev.Kind == note || ev.Kind == said && r.key == witnessKey
		switch {
		case !wanted && was:
			fault("position %d is not for it", x.position)
		case was && (c.id != x.id || c.removed != (x.kind == rowRemoval)):
			fault("position %d was told as %v", x.position, c)
		case wanted && !was && x.kind != rowVoid: // what is void now may have been so before it came
			fault("position %d, of type %d, is missing", x.position, x.kind)
		}
	}
	for position, c := range heard {
		fault("position %d was told as %v and is not in the log", position, c)
	}
	return faults
}
