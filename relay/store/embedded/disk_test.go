package embedded_test

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
)

// disk fails operations on files while it is full, and says how much is free.
type disk struct {
	vfs.FS
	full    atomic.Bool
	part    string       // of the names of files that fail; all when empty
	creates bool         // only making files fails
	syncs   bool         // only syncs fail
	once    bool         // the first failure makes room
	passes  atomic.Int64 // so many operations do not fail yet
	free    atomic.Uint64

	failures atomic.Int64 // operations that failed so far
}

func newDisk() *disk {
	d := &disk{}
	d.free.Store(1 << 40)
	d.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(d.fail))
	return d
}

func (d *disk) fail(op errorfs.Op) error {
	if !d.full.Load() || !strings.Contains(op.Path, d.part) {
		return nil
	}
	switch op.Kind {
	case errorfs.OpCreate, errorfs.OpReuseForWrite:
		if d.syncs {
			return nil
		}
	case errorfs.OpFileWrite, errorfs.OpFilePreallocate:
		if d.creates || d.syncs {
			return nil
		}
	case errorfs.OpFileSync, errorfs.OpFileSyncData:
		if d.creates {
			return nil
		}
	default:
		return nil
	}
	if d.passes.Add(-1) >= 0 {
		return nil
	}
	if d.once {
		d.full.Store(false)
	}
	d.failures.Add(1)
	return syscall.ENOSPC
}

func (d *disk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free.Load()}, nil
}

func TestFullDiskRefusesCommitsServesReadsAndRecovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		part    string
		creates bool
		reopens bool // for reading alone, since the folder seemed to have room
	}{
		{name: "every write"},
		{name: "the write-ahead log", part: ".log", reopens: true},
		{name: "new files", creates: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDisk()
			d.part, d.creates = c.part, c.creates
			s := openFS(t, d)
			put(t, s, note(1), note(2))
			open, err := s.Snapshot(t.Context())
			require.NoError(t, err)
			d.full.Store(true)
			known := fillUntilRefused(t, s)
			require.ErrorIs(t, appendOne(s, note(3)).Err, syscall.ENOSPC, "and so is the next")
			require.Equal(t, known, storedIDs(t, s), "reads go on")
			if got, err := query(open, nostr.Filter{}); c.reopens {
				require.ErrorContains(t, err, "opened anew")
			} else {
				require.NoError(t, err)
				require.Equal(t, []string{note(2).ID, note(1).ID}, got)
			}
			require.Len(t, readLog(t, s), len(known))

			d.full.Store(false)
			requireRecovery(t, s)
			require.Subset(t, storedIDs(t, s), known)
			require.Contains(t, storedIDs(t, s), note(1000).ID)
			readLog(t, s)
			require.NoError(t, open.Close())
			require.NoError(t, s.Close())
			s = openFS(t, d)
			require.Subset(t, storedIDs(t, s), known)
			require.NoError(t, s.Close())
		})
	}
}

// fillUntilRefused appends notes that are too large for memory alone until one
// is refused, and returns what is stored.
func fillUntilRefused(t *testing.T, s *embedded.Store) []string {
	t.Helper()
	text := strings.Repeat("fill", 16<<10)
	for i := range 5000 {
		e := storetest.Draft{Kind: 1, At: 1000 + int64(i), Content: text}.Event()
		if err := appendOne(s, e).Err; err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			return storedIDs(t, s)
		}
	}
	require.Fail(t, "a full disk took everything")
	return nil
}

// requireRecovery appends note 1000 until it is taken.
func requireRecovery(t *testing.T, s *embedded.Store) {
	t.Helper()
	require.Eventually(t, func() bool { return appendOne(s, note(1000)).Err == nil }, waitAtMost, waitStep)
}

func TestLowSpaceRefusesCommitsBeforeTheDiskIsFull(t *testing.T) {
	t.Parallel()
	d := newDisk()
	s := openFS(t, d)
	put(t, s, note(1))
	require.False(t, s.Refusing())
	d.free.Store(1 << 20)
	require.ErrorContains(t, appendOne(s, note(2)).Err, "disk is full")
	require.True(t, s.Refusing())
	require.Equal(t, []string{note(1).ID}, storedIDs(t, s))
	require.EqualValues(t, 1, logInfo(t, s).Head)
	d.free.Store(1 << 40)
	_, err := s.Sweep(t.Context(), time.Now())
	require.NoError(t, err)
	require.False(t, s.Refusing(), "nobody has to publish")
	require.Equal(t, store.Outcome{Position: 2, Last: 2}, appendOne(s, note(2)))
	require.NoError(t, s.Close())
}

func TestTablesThatCannotBeWrittenRefuseCommits(t *testing.T) {
	t.Parallel()
	d := newDisk()
	d.part = ".sst"
	s := openFS(t, d)
	d.full.Store(true)
	known := fillUntilRefused(t, s)
	require.Equal(t, known, storedIDs(t, s))
	d.full.Store(false)
	requireRecovery(t, s) // Pebble writes the table again by itself
	require.Subset(t, storedIDs(t, s), known)
	require.NoError(t, s.Close())
}

// After a failed write of the manifest Pebble must be opened anew.
func TestManifestThatFailsOnceLosesNothing(t *testing.T) {
	t.Parallel()
	d := newDisk()
	d.part, d.once = "MANIFEST", true
	s := openFS(t, d)
	d.full.Store(true)
	var want []string
	for i := 0; d.full.Load() || i%100 != 0; i++ {
		e := storetest.Draft{Kind: 1, At: int64(i), Content: strings.Repeat("fill", 4<<10)}.Event()
		if appendOne(s, e).Err == nil {
			want = append(want, e.ID)
		}
	}
	requireRecovery(t, s)
	require.Subset(t, storedIDs(t, s), want)
	readLog(t, s)
	require.NoError(t, s.Close())
}

func TestOpenOnAFullDiskServesReads(t *testing.T) {
	t.Parallel()
	d := newDisk()
	s := openFS(t, d)
	put(t, s, note(1))
	require.NoError(t, s.Close())
	d.full.Store(true)
	d.free.Store(0)
	s = openFS(t, d)
	require.Equal(t, []string{note(1).ID}, storedIDs(t, s))
	require.True(t, s.Refusing())
	require.Error(t, appendOne(s, note(2)).Err)
	d.full.Store(false)
	d.free.Store(1 << 40)
	requireRecovery(t, s)
	require.NoError(t, s.Close())

	d.free.Store(0)
	_, err := embedded.OpenFS(d, "other", embedded.Options{})
	require.ErrorContains(t, err, "disk is full")
}

func TestCloseOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"", ".log", ".sst"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			d := newDisk()
			d.part = part
			s := openFS(t, d)
			d.full.Store(true)
			known := fillUntilRefused(t, s)
			_ = s.Close() // may report what is wrong with the disk
			d.full.Store(false)
			s = openFS(t, d)
			require.Subset(t, storedIDs(t, s), known)
			require.NoError(t, s.Close())
		})
	}
}

func TestFailedCommitGivesItsPositionsAgain(t *testing.T) {
	t.Parallel()
	d := newDisk()
	s := openFS(t, d)
	put(t, s, note(1))
	d.full.Store(true)
	require.Error(t, appendOne(s, note(2)).Err)
	require.EqualValues(t, 1, logInfo(t, s).Head)
	d.full.Store(false)
	require.Equal(t, store.Outcome{Position: 2, Last: 2}, appendOne(s, note(3)))
	require.Equal(t, []string{note(3).ID, note(1).ID}, storedIDs(t, s))
	require.NoError(t, s.Close())
}

func TestSnapshotsEndWhenTheDatabaseIsOpenedAnew(t *testing.T) {
	t.Parallel()
	d := newDisk()
	s := openFS(t, d)
	put(t, s, note(1))
	d.full.Store(true)
	require.Error(t, appendOne(s, note(2)).Err)
	snap, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	rows, err := snap.Query(t.Context(), nil, store.QueryOptions{})
	require.NoError(t, err)
	d.full.Store(false)
	put(t, s, note(2))
	_, err = rows.Next(t.Context(), nil, 1)
	require.ErrorContains(t, err, "opened anew")
	require.NoError(t, rows.Close())
	require.NoError(t, snap.Close())
	require.NoError(t, s.Close())
}

// Pebble itself tries again at once, as often as the processor allows.
func TestTablesThatCannotBeWrittenAreTriedAgainAfterAPause(t *testing.T) {
	t.Parallel()
	d := newDisk()
	d.part = ".sst"
	s := openFS(t, d)
	d.full.Store(true)
	fillUntilRefused(t, s)
	const tries = 4
	begun := time.Now() // first: what fails after it, and before the next line, is not waited for
	before := d.failures.Load()
	require.Eventually(t, func() bool { return d.failures.Load() >= before+tries }, waitAtMost, waitStep)
	require.GreaterOrEqual(t, time.Since(begun), (tries-1)*embedded.RetryPause)
	begun = time.Now()
	_ = s.Close() // reports what is wrong with the disk
	require.Less(t, time.Since(begun), waitAtMost)
}
