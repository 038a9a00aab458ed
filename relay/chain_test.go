package relay_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/regress/postgres"
	"fencepost/relay"
	"fencepost/relay/outbox"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
)

// reading is a log of a real database as a follower reads it.
type reading struct {
	t        *testing.T
	s        store.Store
	database string
	log      outbox.Log
	watch    func(context.Context) error
	applied  store.Position
}

// read opens a database, writes what comes before, and begins to read behind it.
func read(t *testing.T, server *postgres.Server, before ...store.Write) *reading {
	t.Helper()
	r := &reading{t: t, database: server.Database(t)}
	c := options(t.TempDir()).Config
	over(r.database)(&c)
	s, err := relay.OpenStore(t.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	r.s = s
	r.put(before...)
	info, err := s.Log(t.Context())
	require.NoError(t, err)
	r.applied = info.Head
	r.log, r.watch, err = relay.History(t.Context(), s, func() store.Position { return r.applied })
	require.NoError(t, err)
	return r
}

func (r *reading) put(writes ...store.Write) {
	r.t.Helper()
	for _, w := range writes {
		require.NoError(r.t, r.s.Append(r.t.Context(), []store.Write{w})[0].Err)
	}
}

// step reads what follows, and applies all of it.
func (r *reading) step() (n int, err error) {
	page, err := r.log.ReadLog(r.t.Context(), r.applied, 4)
	for i := range page {
		require.Equal(r.t, r.applied+1, page[i].Position)
		r.applied++
	}
	return len(page), err
}

// all applies everything.
func (r *reading) all() {
	r.t.Helper()
	for n := 1; n > 0; {
		var err error
		n, err = r.step()
		require.NoError(r.t, err)
	}
}

func draft(d storetest.Draft) store.Write { return store.Write{Event: d.Event()} }

func decree(data string) store.Write {
	return store.Write{Controls: []store.Control{{Scopes: []string{"relay"}, Data: []byte(data)}}}
}

var first = storetest.Draft{Key: 1, Kind: 1, At: 1_700_000_000, Content: "first"}

// Whatever becomes of a row that was applied in one history, the log goes on from it.
func TestALogGoesOnFromARowThatHasChanged(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	later := time.Now().Add(time.Hour)
	sweep := func(r *reading) error { _, err := r.s.Sweep(r.t.Context(), later); return err }
	sql := func(text string) func(*reading) error {
		return func(r *reading) error { change(r.t, r.database, text); return nil }
	}
	put := func(d storetest.Draft) func(*reading) error {
		return func(r *reading) error { r.put(draft(d)); return nil }
	}
	for name, row := range map[string]struct {
		last store.Write
		then func(r *reading) error
	}{
		"nothing": {draft(first), func(*reading) error { return nil }},
		"deleted": {draft(first), put(storetest.Draft{Key: 1, Kind: 5, At: 1_700_000_001, Tags: nostr.Tags{{"e", first.Event().ID}}})},
		"replaced": {
			draft(storetest.Draft{Key: 1, Kind: 10002, At: 1_700_000_000}),
			put(storetest.Draft{Key: 1, Kind: 10002, At: 1_700_000_001}),
		},
		"ephemeral, and swept": {draft(storetest.Draft{Key: 1, Kind: 20001, At: 1_700_000_000}), sweep},
		"trimmed": {draft(first), func(r *reading) error {
			_, err := r.s.Trim(r.t.Context(), store.Retention{Rows: 1}, later)
			require.NoError(r.t, err)
			r.put(draft(storetest.Draft{Key: 2, Kind: 1, At: 1}), draft(storetest.Draft{Key: 2, Kind: 1, At: 2}))
			_, err = r.s.Trim(r.t.Context(), store.Retention{Rows: 2}, later)
			return err
		}},
		"erased": {draft(first), func(r *reading) error {
			_, err := r.s.Erase(r.t.Context(), store.Erasure{Author: storetest.Key(1), Until: 1_800_000_000}, 10)
			return err
		}},
		"damaged":                     {draft(first), sql("UPDATE events SET raw = '{'")},
		"a control row":               {decree("one"), func(r *reading) error { r.put(decree("two")); return nil }},
		"a control row, damaged":      {decree("one"), sql("UPDATE log SET body = '\\xff' WHERE type = 5")},
		"a control row of a new form": {decree("one"), sql("UPDATE log SET version = 9 WHERE type = 5")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, started := range []bool{false, true} { // before, or behind the row
				before := []store.Write{draft(storetest.Draft{Kind: 1, At: 1})}
				if started {
					before = append(before, row.last)
				}
				r := read(t, server, before...)
				if !started {
					r.put(row.last)
					r.all()
				}
				require.NoError(t, row.then(r))
				r.all()
				for i := range 9 {
					r.put(draft(storetest.Draft{Key: 3, Kind: 1, At: int64(i)}))
				}
				r.all()
				info, err := r.s.Log(t.Context())
				require.NoError(t, err)
				require.Equal(t, info.Head, r.applied)
			}
		})
	}
}

// A crash loses the end of the log, and what is written then takes its positions.
func TestALogThatWasFilledAgainIsAnotherOne(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	const lose = `DELETE FROM events WHERE position > 1; DELETE FROM search WHERE position > 1; DELETE FROM tags WHERE position > 1;
DELETE FROM log WHERE position > 1; UPDATE log_head SET head = 1, version = version + 1`
	for name, row := range map[string]struct{ lost, filled store.Write }{
		"an event for an event":     {draft(first), draft(storetest.Draft{Key: 2, Kind: 1, At: 7})},
		"a control row for another": {decree("ban"), decree("allow")},
		"an event for a control":    {decree("ban"), draft(first)},
		"a control for an event":    {draft(first), decree("ban")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, started := range []bool{false, true} {
				before := []store.Write{draft(storetest.Draft{Kind: 1, At: 1})}
				if started {
					before = append(before, row.lost)
				}
				r := read(t, server, before...)
				if !started {
					r.put(row.lost)
					r.all()
				}
				change(t, r.database, lose)
				r.put(row.filled, draft(storetest.Draft{Key: 3, Kind: 1, At: 1}))
				n, err := r.step()
				require.ErrorContains(t, err, "another history")
				require.Zero(t, n, "nothing of it is shown")
				require.ErrorContains(t, r.watch(t.Context()), "another history")
			}
		})
	}
	t.Run("nothing yet", func(t *testing.T) {
		t.Parallel()
		r := read(t, server, draft(storetest.Draft{Kind: 1, At: 1}), draft(first))
		change(t, r.database, lose)
		_, err := r.step()
		require.ErrorContains(t, err, "another history")
	})
	t.Run("behind a page that was applied in part", func(t *testing.T) {
		t.Parallel()
		r := read(t, server, draft(storetest.Draft{Kind: 1, At: 1}))
		r.put(draft(first), decree("ban"), decree("allow"))
		n, err := r.step()
		require.NoError(t, err)
		require.Equal(t, 3, n)
		r.applied-- // the last one could not be applied
		_, err = r.log.ReadLog(t.Context(), 1, 1)
		require.NoError(t, err, "a row that was deferred is read again")
		change(t, r.database, lose)
		r.put(decree("x"), decree("y"), decree("z"))
		_, err = r.step()
		require.ErrorContains(t, err, "another history")
	})
}

func TestAReplicaEndsWhenWhatItAppliedWasReplaced(t *testing.T) {
	t.Parallel()
	database := postgres.Start(t).Database(t)
	o := options(t.TempDir())
	over(database)(&o.Config)
	made, err := relay.New(t.Context(), o)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var g errgroup.Group
	g.Go(func() error { return made.Run(ctx) })
	r := &running{Relay: made, url: made.Addr().String()}
	reader := r.dial(t)
	open(t, reader, `{"kinds":[1]}`)
	require.NoError(t, r.dial(t).Publish(t.Context(), note(t, "lost")))
	require.Equal(t, "lost", next(t, reader).Event.Content)
	change(t, database, `UPDATE log SET prefix = '\x0102030405060708' WHERE position = (SELECT head FROM log_head)`)
	require.ErrorContains(t, g.Wait(), "another history")
	for err == nil { // its subscription is ended, and then it is cut
		_, err = reader.Next(t.Context())
	}
}

// The settings are refused at a start, but can be made while a relay runs.
func TestCommitsThatACrashLostAreNoticed(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	if !server.Own() {
		t.Skip("the database is not this test's to kill")
	}
	r := read(t, server, draft(storetest.Draft{Kind: 1, At: 1}))
	r.all()
	change(t, r.database, "CHECKPOINT")
	change(t, r.database, "ALTER SYSTEM SET wal_writer_delay = '10s'")
	change(t, r.database, "ALTER SYSTEM SET synchronous_commit = off")
	change(t, r.database, "SELECT pg_reload_conf()")
	until(t, func() bool {
		return rows(t, r.database, "SELECT count(*) FROM pg_settings WHERE name = 'synchronous_commit' AND setting = 'off'") == 1
	})
	for lost := false; !lost; { // unless the database has written them just then
		r.put(draft(storetest.Draft{Key: 1, Kind: 1, At: int64(r.applied)}))
		until(t, func() bool { n, err := r.step(); return err == nil && n == 0 }) // by a new connection
		server.Kill()
		server.Restart(t)
		lost = rows(t, r.database, "SELECT head FROM log_head") < int(r.applied)
	}
	for i := range 4 {
		r.put(draft(storetest.Draft{Key: 2, Kind: 1, At: int64(i)}))
	}
	require.Greater(t, rows(t, r.database, "SELECT head FROM log_head"), int(r.applied), "it looks as if it had grown")
	until(t, func() bool {
		n, err := r.step()
		require.Zero(t, n)
		return err != nil && strings.Contains(err.Error(), "another history")
	})
}
