package aio_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"fencepost/relay/store/aio"
)

// syncer returns one that its test closes.
func syncer(t testing.TB) *aio.Syncer {
	t.Helper()
	s, err := aio.New()
	if err != nil {
		t.Skipf("this kernel has no asynchronous I/O: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func file(t testing.TB) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// The kernel says which pages of the file were not written to the disk yet.
func TestNothingIsLeftToWriteWhenSyncReturns(t *testing.T) {
	t.Parallel()
	s, f := syncer(t), file(t)
	unwritten := func() uint64 {
		var all unix.CachestatRange // to the end
		var got unix.Cachestat_t
		if err := unix.Cachestat(uint(f.Fd()), &all, &got, 0); err != nil {
			t.Skipf("this kernel does not tell what it has written: %v", err)
		}
		return got.Dirty + got.Writeback
	}
	for range 20 {
		_, err := f.WriteAt(make([]byte, 4<<20), 0)
		require.NoError(t, err)
		if unwritten() == 0 {
			t.Skip("this file system does not tell what it has written")
		}
		require.NoError(t, s.Sync(f.Fd()))
		require.Zero(t, unwritten())
	}
}

func TestSyncFailsAsFdatasyncDoes(t *testing.T) {
	t.Parallel()
	s := syncer(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = r.Close(); _ = w.Close() }()
	for name, fd := range map[string]uintptr{"no file": 1 << 20, "a pipe": w.Fd()} {
		t.Run(name, func(t *testing.T) {
			want := unix.Fdatasync(int(fd))
			require.Error(t, want)
			require.Equal(t, want, s.Sync(fd))
		})
	}
	require.NoError(t, s.Sync(file(t).Fd()), "it goes on")
}

// No file at hand fails after the kernel has taken the request.
func TestTheKernelsAnswerIsTheError(t *testing.T) {
	t.Parallel()
	require.NoError(t, aio.FailureOf(0))
	require.Equal(t, unix.EIO, aio.FailureOf(-int64(unix.EIO)))
}

func TestManySyncAtOnce(t *testing.T) {
	t.Parallel()
	s := syncer(t)
	var g errgroup.Group
	for range 8 {
		f := file(t)
		g.Go(func() error {
			for range 20 {
				if _, err := f.Write([]byte("x")); err != nil {
					return err
				}
				if err := s.Sync(f.Fd()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
}

func TestSyncWorksAfterClose(t *testing.T) {
	t.Parallel()
	s, f := syncer(t), file(t)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.NoError(t, s.Sync(f.Fd()))
	require.Equal(t, unix.EBADF, s.Sync(1<<20))
}

// BenchmarkSync compares with a thread that blocks. CPU is that of the process.
func BenchmarkSync(b *testing.B) {
	s, f := syncer(b), file(b)
	for _, way := range []struct {
		name string
		sync func(fd uintptr) error
	}{
		{"fdatasync", func(fd uintptr) error { return unix.Fdatasync(int(fd)) }},
		{"aio", s.Sync},
	} {
		b.Run(way.name, func(b *testing.B) {
			begin := used(b)
			for b.Loop() {
				_, err := f.WriteAt(make([]byte, 400), 0)
				require.NoError(b, err)
				require.NoError(b, way.sync(f.Fd()))
			}
			b.ReportMetric(float64(used(b)-begin)/float64(b.N), "cpu-ns/op")
		})
	}
}

// used returns the CPU time of the process in nanoseconds.
func used(b *testing.B) int64 {
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}
