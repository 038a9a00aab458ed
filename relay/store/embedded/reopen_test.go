package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

func TestReopenKeepsEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openDir(t, dir)
	gone := note(1)
	stay := storetest.Draft{Kind: 30023, At: 9, Tags: nostr.Tags{{"d", "x"}, {"expiration", "9999999999"}}}.Event()
	del := storetest.Draft{Kind: 5, At: 10, Tags: nostr.Tags{{"e", gone.ID}, {"e", note(2).ID}}}.Event()
	put(t, s, gone, storetest.Draft{Kind: 30023, At: 8, Tags: nostr.Tags{{"d", "x"}}}.Event(), stay, del,
		storetest.Draft{Kind: 20000}.Event())
	before, info := readLog(t, s), logInfo(t, s)
	require.NoError(t, s.Close())

	s = openDir(t, dir)
	require.Equal(t, info, logInfo(t, s))
	require.Len(t, info.Epoch, 16)
	require.Equal(t, before, readLog(t, s))
	require.Equal(t, []string{del.ID, stay.ID}, storedIDs(t, s))
	require.ErrorIs(t, appendOne(s, gone).Err, store.ErrDeleted)
	require.ErrorIs(t, appendOne(s, note(2)).Err, store.ErrDeleted)
	require.Equal(t, store.Outcome{Position: 3, Err: store.ErrDuplicate}, appendOne(s, stay))
	require.Equal(t, info.Head+1, appendOne(s, note(3)).Position)
	n, err := s.Sweep(t.Context(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, n, "the ephemeral row")
	require.NoError(t, s.Close())
}

// A flush that has nothing to write ends with an error of its own, which is no
// reason to refuse commits.
func TestStoreThatWasOpenedForNothingTakesEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openDir(t, dir)
	put(t, s, note(1))
	for i := range 4 {
		require.NoError(t, s.Close())
		s = openDir(t, dir)
		if i%2 == 0 {
			continue // closed again without a write
		}
		require.NoError(t, embedded.Flush(s))
		require.NoError(t, appendOne(s, note(10+i)).Err)
	}
	require.NoError(t, embedded.Flush(s))
	require.NoError(t, embedded.Flush(s), "the second has nothing to write")
	require.NoError(t, appendOne(s, note(20)).Err)
	require.NoError(t, s.Close())
}

func TestEachFolderHasItsOwnEpoch(t *testing.T) {
	t.Parallel()
	one, two := openDir(t, t.TempDir()), openDir(t, t.TempDir())
	require.NotEqual(t, logInfo(t, one).Epoch, logInfo(t, two).Epoch)
	require.NoError(t, one.Close())
	require.NoError(t, two.Close())
}

func TestSecondOpenIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openDir(t, dir)
	put(t, s, note(1))
	_, err := embedded.Open(dir, embedded.Options{})
	require.ErrorIs(t, err, store.ErrInUse)
	require.ErrorContains(t, err, dir)
	require.Equal(t, []string{note(1).ID}, storedIDs(t, s))
	require.NoError(t, s.Close())
	require.NoError(t, openDir(t, dir).Close())
}

func TestSecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openDir(t, dir)
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env = append(os.Environ(), otherProcess+"="+dir)
	said, err := other.CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(said), store.ErrInUse.Error())
	put(t, s, note(1))
	require.NoError(t, s.Close())
}

func TestUnwritableFolderIsNotInUse(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/file"
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err := embedded.Open(path, embedded.Options{})
	require.Error(t, err)
	require.NotErrorIs(t, err, store.ErrInUse)
}

func TestOtherSchemaIsRefused(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	require.NoError(t, openFS(t, fs).Close())
	edit(t, fs, "\x00schema", "\x00\x00\x00\x02")
	_, err := embedded.OpenFS(fs, "data", embedded.Options{})
	require.ErrorIs(t, err, store.ErrSchema)
	require.ErrorContains(t, err, "data folder has schema 2, this binary knows 1")
	edit(t, fs, "\x00schema", "\x00\x00\x00\x01")
	require.NoError(t, openFS(t, fs).Close(), "a refusal changes nothing")
}

func TestForeignDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	edit(t, fs, "somebody's", "data")
	_, err := embedded.OpenFS(fs, "data", embedded.Options{})
	require.ErrorIs(t, err, store.ErrSchema)
}

// A crash at any moment keeps whatever was acknowledged, and the log dense.
func TestCrashLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	s := openFS(t, fs)
	acked := &ledger{positions: make(map[string]store.Position)}
	var publishers sync.WaitGroup
	for p := range 4 {
		publishers.Go(func() {
			for i := range 150 {
				e := storetest.Draft{Key: p, Kind: 1, At: int64(i), Content: "crash"}.Event()
				acked.add(e.ID, appendOne(s, e))
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		want, crashed := acked.crash(fs, rng)
		again := openFS(t, crashed)
		rows := readLog(t, again)
		for id, position := range want {
			require.Less(t, int(position), len(rows)+1)
			require.Equal(t, id, rows[position-1].Event.ID)
		}
		require.Len(t, storedIDs(t, again), len(rows))
		put(t, again, note(7))
		require.NoError(t, again.Close())
	}
	publishers.Wait()
	require.NoError(t, s.Close())
}

// ledger is what was acknowledged: id -> position.
type ledger struct {
	mu        sync.Mutex
	positions map[string]store.Position
}

func (l *ledger) add(id string, o store.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.Err == nil {
		l.positions[id] = o.Position
	}
}

// crash returns what was acknowledged, and then a disk as a crash leaves it.
func (l *ledger) crash(fs *vfs.MemFS, rng *rand.Rand) (map[string]store.Position, *vfs.MemFS) {
	l.mu.Lock()
	want := make(map[string]store.Position, len(l.positions))
	for id, p := range l.positions {
		want[id] = p
	}
	l.mu.Unlock()
	return want, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng})
}

func edit(t *testing.T, fs vfs.FS, key, value string) {
	t.Helper()
	db, err := pebble.Open("data", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}})
	require.NoError(t, err)
	require.NoError(t, db.Set([]byte(key), []byte(value), pebble.Sync))
	require.NoError(t, db.Close())
}

type quiet struct{}

func (quiet) Infof(string, ...any)         {}
func (quiet) Errorf(string, ...any)        {}
func (quiet) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

func openDir(t testing.TB, dir string) *embedded.Store {
	t.Helper()
	s, err := embedded.Open(dir, embedded.Options{})
	require.NoError(t, err)
	return s
}

func openFS(t testing.TB, fs vfs.FS) *embedded.Store {
	t.Helper()
	s, err := embedded.OpenFS(fs, "data", embedded.Options{})
	require.NoError(t, err)
	return s
}

func note(n int) *wire.Event {
	return storetest.Draft{Kind: 1, At: 100 + int64(n), Content: fmt.Sprint("note ", n)}.Event()
}

func appendOne(s store.Store, e *wire.Event) store.Outcome {
	return s.Append(background, []store.Write{{Event: e}})[0]
}

func put(t testing.TB, s store.Store, events ...*wire.Event) {
	t.Helper()
	for _, e := range events {
		require.NoError(t, appendOne(s, e).Err)
	}
}

func logInfo(t testing.TB, s store.Store) store.LogInfo {
	t.Helper()
	info, err := s.Log(background)
	require.NoError(t, err)
	return info
}

func readLog(t testing.TB, s store.Store) []store.Entry {
	t.Helper()
	rows, err := s.ReadLog(background, 0, 1<<30)
	require.NoError(t, err)
	for i, r := range rows {
		require.Equal(t, store.Position(i+1), r.Position)
	}
	require.Equal(t, logInfo(t, s).Head, store.Position(len(rows)))
	return rows
}
