package embedded_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
)

// history fills s with n notes, each followed by a profile that replaces the one before.
func history(t testing.TB, s store.Store, n int) {
	t.Helper()
	writes := make([]store.Write, 0, 2*n)
	for i := range n {
		profile := storetest.Draft{Kind: 0, At: int64(i), Content: strconv.Itoa(i)}.Event()
		writes = append(writes, store.Write{Event: note(i)}, store.Write{Event: profile})
	}
	for _, out := range s.Append(t.Context(), writes) {
		require.NoError(t, out.Err)
	}
}

// requireDense requires that the log is whole from its floor on, and nothing before it.
func requireDense(t *testing.T, s store.Store) store.LogInfo {
	t.Helper()
	info := logInfo(t, s)
	rows, err := s.ReadLog(t.Context(), info.Floor-1, 1<<30)
	require.NoError(t, err)
	require.Len(t, rows, int(info.Head-info.Floor+1))
	for i, r := range rows {
		require.Equal(t, info.Floor+store.Position(i), r.Position)
	}
	if info.Floor > 1 {
		_, err = s.ReadLog(t.Context(), info.Floor-2, 1)
		require.ErrorIs(t, err, store.ErrFloor)
	}
	return info
}

func TestTheFloorOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openDir(t, dir)
	history(t, s, 2500)
	keep := store.Retention{Rows: 10, Age: time.Hour}
	floor, err := s.Trim(t.Context(), keep, time.Now())
	require.NoError(t, err)
	require.Equal(t, store.Position(4991), floor)
	require.Equal(t, 2500-5+10, logRows(t, s), "the notes below the floor and what is above it")
	require.NoError(t, s.Close())

	s = openDir(t, dir)
	info := requireDense(t, s)
	require.Equal(t, floor, info.Floor)
	require.Len(t, storedIDs(t, s), 2501)
	n, err := s.Erase(t.Context(), store.Erasure{Author: storetest.Key(0), Until: 1 << 40}, 10_000)
	require.NoError(t, err)
	require.Equal(t, 2501, n)
	require.Equal(t, 10+2501, logRows(t, s), "what is removed leaves no row below the floor")
	requireDense(t, s)

	floor, err = s.Trim(t.Context(), store.Retention{Age: time.Hour}, time.Now().Add(2*time.Hour))
	require.NoError(t, err)
	require.Equal(t, store.Position(5001), floor, "the time of the first trim is remembered")
	require.NoError(t, s.Close())
}

// A crash at any moment of a trim leaves the log whole from its floor on.
func TestACrashInTheMiddleOfATrimLeavesNoHole(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	s := openFS(t, fs)
	history(t, s, 5000)
	var g errgroup.Group
	g.Go(func() error {
		for rows := uint64(9000); rows > 0; rows -= 500 {
			if _, err := s.Trim(background, store.Retention{Rows: rows}, time.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	rng := rand.New(rand.NewPCG(2, 2))
	floors := make(map[store.Position]bool)
	for range 8 {
		again := openFS(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng}))
		info := requireDense(t, again)
		floors[info.Floor] = true
		require.Equal(t, store.Position(10_000), info.Head)
		require.Len(t, storedIDs(t, again), 5001)
		require.NoError(t, again.Close())
	}
	require.NoError(t, g.Wait())
	t.Logf("%d floors were met", len(floors))
	require.Equal(t, store.Position(9501), requireDense(t, s).Floor)
	require.NoError(t, s.Close())
}

// The rows in memory know of the floor as well.
func TestTheTailEndsAtTheFloor(t *testing.T) {
	t.Parallel()
	s := openFS(t, vfs.NewMem())
	history(t, s, 5)
	_, err := s.Trim(t.Context(), store.Retention{Rows: 3}, time.Now())
	require.NoError(t, err)
	_, err = s.ReadLog(t.Context(), 6, 1)
	require.ErrorIs(t, err, store.ErrFloor)
	rows, err := s.ReadLog(t.Context(), 7, 10)
	require.NoError(t, err)
	require.Len(t, rows, 3)
	_, err = s.ReadLog(t.Context(), 1<<64-1, 1)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func logRows(t *testing.T, s *embedded.Store) int {
	t.Helper()
	n, err := embedded.LogRows(s)
	require.NoError(t, err)
	return n
}
