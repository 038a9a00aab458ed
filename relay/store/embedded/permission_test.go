package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

func TestReopenKeepsPermissions(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	s := openFS(t, fs)
	put(t, s, note(1))
	write(t, s, store.Write{
		Controls: []store.Control{change("a", "relay", "g:x"), change("b", "g:x")},
		Ban:      []string{note(1).ID, note(2).ID, note(3).ID}, Unban: []string{note(3).ID},
		Erase: &store.Erasure{Author: storetest.Key(1), Until: 100},
	})
	write(t, s, store.Write{Erase: &store.Erasure{Author: storetest.Key(1), Until: 50}})
	write(t, s, store.Write{Erase: &store.Erasure{Group: "x", Self: storetest.Key(9)}})
	write(t, s, store.Write{Erase: &store.Erasure{Group: "y"}})
	info, before, controls := logInfo(t, s), readLog(t, s), readControl(t, s)
	require.Equal(t, store.Position(3), info.Control)
	require.NoError(t, s.Close())

	s = openFS(t, fs)
	require.Equal(t, info, logInfo(t, s))
	require.Equal(t, before, readLog(t, s))
	require.Equal(t, controls, readControl(t, s))
	for scope, epoch := range map[string]store.Position{"relay": 2, "g:x": 3, "g:y": 0} {
		require.Equal(t, epoch, epochOf(t, s, scope))
	}
	require.ErrorIs(t, appendOne(s, note(1)).Err, store.ErrBanned)
	require.ErrorIs(t, appendOne(s, note(2)).Err, store.ErrBanned)
	for _, e := range []*wire.Event{
		storetest.Draft{Key: 1, Kind: 1, At: 100}.Event(),
		storetest.Draft{Kind: 9, At: 1, Tags: nostr.Tags{{"h", "x"}}}.Event(),
		storetest.Draft{Kind: 9, At: 1, Tags: nostr.Tags{{"h", "y"}}}.Event(),
		storetest.Draft{Key: 9, Kind: 39000, At: 1, Tags: nostr.Tags{{"d", "x"}}}.Event(),
	} {
		require.ErrorIs(t, appendOne(s, e).Err, store.ErrVanished)
	}
	put(t, s, note(3), storetest.Draft{Key: 1, Kind: 1, At: 101}.Event(),
		storetest.Draft{Key: 9, Kind: 39000, At: 1, Tags: nostr.Tags{{"d", "y"}}}.Event())
	require.NoError(t, s.Close())
}

// What a commit that failed would have decided is not remembered, whether the
// database is opened anew for it or not.
func TestFailedCommitChangesNoPermission(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(d *disk, full bool){
		"the disk is full": func(d *disk, full bool) { d.full.Store(full) },
		"space is low": func(d *disk, full bool) {
			if d.free.Store(1 << 40); full {
				d.free.Store(0)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDisk()
			s := openFS(t, d)
			write(t, s, store.Write{Controls: []store.Control{change("first", "relay")}})
			fail(d, true)
			require.Error(t, appendWrite(s, store.Write{
				Event: note(1), Also: []*wire.Event{note(2)}, Controls: []store.Control{change("", "relay", "g:x")},
				Ban: []string{note(3).ID}, Erase: &store.Erasure{Author: storetest.Key(0), Until: 1 << 40},
			}).Err)
			require.Equal(t, store.Position(1), logInfo(t, s).Control)
			_, err := s.Erase(t.Context(), store.Erasure{Author: storetest.Key(0), Until: 1 << 40}, 10)
			require.NoError(t, err, "there is nothing to erase")
			fail(d, false)
			require.Equal(t, store.Position(1), epochOf(t, s, "relay"))
			require.Zero(t, epochOf(t, s, "g:x"))
			put(t, s, note(1), note(2), note(3))
			require.Equal(t, []store.Entry{readLog(t, s)[0]}, readControl(t, s))
			require.NoError(t, s.Close())
		})
	}
}

// A commit that breaks during its fsync may be stored or not: what is remembered
// is what the log then says.
func TestPermissionsFollowTheLogAfterABrokenSync(t *testing.T) {
	t.Parallel()
	d := newDisk()
	d.part, d.syncs, d.once = ".log", true, true
	s := openFS(t, d)
	write(t, s, store.Write{Controls: []store.Control{change("", "relay")}})
	d.full.Store(true)
	require.Error(t, appendWrite(s, store.Write{
		Event: note(1), Controls: []store.Control{change("", "relay", "g:x")}, Ban: []string{note(3).ID},
	}).Err)
	require.False(t, d.full.Load(), "the sync failed")
	put(t, s, note(9)) // opens the database anew
	rows := readLog(t, s)
	requireEpochs(t, s, rows)
	if len(rows) > 2 {
		require.ErrorIs(t, appendOne(s, note(3)).Err, store.ErrBanned)
	} else {
		put(t, s, note(3))
	}
	require.NoError(t, s.Close())
}

// A crash at any moment leaves whole writes, and the epochs that they say.
func TestCrashLeavesWritesWhole(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	s := openFS(t, fs)
	acked := &ledger{positions: make(map[string]store.Position)}
	var publishers sync.WaitGroup
	for p := range 4 {
		publishers.Go(func() {
			for i := range 100 {
				e := storetest.Draft{Key: p, Kind: 1, At: int64(i)}.Event()
				also := storetest.Draft{Key: 9, Kind: 1, At: int64(i), Content: e.ID}.Event()
				acked.add(e.ID, appendWrite(s, store.Write{
					Event: e, Also: []*wire.Event{also}, Controls: []store.Control{change(e.ID, fmt.Sprint("g:", p))},
				}))
			}
		})
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for range 10 {
		want, crashed := acked.crash(fs, rng)
		again := openFS(t, crashed)
		rows := readLog(t, again)
		require.Zero(t, len(rows)%3)
		require.GreaterOrEqual(t, len(rows), 3*len(want))
		for i := 0; i < len(rows); i += 3 {
			require.Equal(t, rows[i].Event.ID, rows[i+2].Event.Content)
			require.Equal(t, rows[i].Event.ID, string(rows[i+1].Control.Data))
		}
		for id, position := range want {
			require.Equal(t, id, rows[position-1].Event.ID)
		}
		requireEpochs(t, again, rows)
		require.NoError(t, again.Close())
	}
	publishers.Wait()
	require.NoError(t, s.Close())
}

func TestDamagedPermissionsAreNotOpened(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"\x0ashort", "\x0bshort"} {
		fs := vfs.NewMem()
		require.NoError(t, openFS(t, fs).Close())
		edit(t, fs, key, "")
		_, err := embedded.OpenFS(fs, "data", embedded.Options{})
		require.ErrorContains(t, err, "malformed")
	}
}

// requireEpochs compares the epochs with all control rows.
func requireEpochs(t *testing.T, s store.Store, rows []store.Entry) {
	t.Helper()
	var newest store.Position
	epochs := make(map[string]store.Position)
	for _, r := range rows {
		if r.Type == store.EntryControl {
			for _, scope := range r.Control.Scopes {
				epochs[scope] = r.Position
			}
			newest = r.Position
		}
	}
	require.Equal(t, newest, logInfo(t, s).Control)
	for scope, epoch := range epochs {
		require.Equal(t, epoch, epochOf(t, s, scope), scope)
	}
}

// epochOf asks by a term that cannot fit.
func epochOf(t testing.TB, s store.Store, scope string) store.Position {
	t.Helper()
	out := appendWrite(s, store.Write{Terms: []store.Term{{Scope: scope, Epoch: 1 << 60}}})
	require.ErrorIs(t, out.Err, store.ErrMoved)
	return out.Position
}

func change(text string, scopes ...string) store.Control {
	return store.Control{Scopes: scopes, Data: []byte(text)}
}

func appendWrite(s store.Store, w store.Write) store.Outcome {
	return s.Append(background, []store.Write{w})[0]
}

func write(t testing.TB, s store.Store, w store.Write) {
	t.Helper()
	require.NoError(t, appendWrite(s, w).Err)
}

func readControl(t testing.TB, s store.Store) []store.Entry {
	t.Helper()
	rows, err := s.ReadControl(background, 0, 1<<30)
	require.NoError(t, err)
	return rows
}
