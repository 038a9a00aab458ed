package embedded

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options of a store. The zero value of each field has a default.
type Options struct {
	Now    func() time.Time // the clock; time.Now
	Logger *slog.Logger     // silent

	// CacheBytes is the memory for what was read: half of it for blocks, half for
	// decoded events; 128 MiB. Memtables come on top, up to 128 MiB while much is
	// written, and so does the garbage that decoded events leave behind, up to their
	// share once more with the default of GOGC.
	CacheBytes int64

	// Search keeps an index of words (NIP-50). When it is turned on Open makes the index
	// of what is stored; when it is turned off Open removes it.
	Search bool

	// MinFreeBytes is the free space of the folder's disk below which commits are
	// refused, so that the database never meets a full disk itself; 128 MiB.
	// Negative turns the check off.
	MinFreeBytes int64

	// Copying opens a store into which a copy has not ended; without it that is refused
	// with store.ErrCopying.
	Copying bool
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = 128 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MinFreeBytes == 0 {
		o.MinFreeBytes = 128 << 20
	}
	return o
}

// eventCacheBytes is the share of decoded events; blocks get the rest.
func (o Options) eventCacheBytes() int64 { return o.CacheBytes / 2 }

// Memtables: large ones, for few flushes.
const (
	memtableBytes = 32 << 20
	maxMemtables  = 4 // the one that is written to and those that wait for a flush
)

// databaseOptions configures Pebble: one bloom filter a table for the point
// reads that every append does, compression that gets stronger with the level.
// Pebble takes the memory of memtables from its cache, so that what they may take
// at most is added: blocks would have next to nothing otherwise.
func databaseOptions(fs vfs.FS, lock *pebble.Lock, o Options) *pebble.Options {
	db := &pebble.Options{
		FS:                          fs,
		Lock:                        lock,
		CacheSize:                   o.CacheBytes - o.eventCacheBytes() + maxMemtables*memtableBytes,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                memtableBytes,
		MemTableStopWritesThreshold: maxMemtables,
		L0CompactionThreshold:       4,
		LBaseMaxBytes:               64 << 20,
		MaxOpenFiles:                512,
	}
	db.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionBalanced })
	for i := range db.Levels {
		db.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		db.Levels[i].BlockSize = 16 << 10
	}
	return db
}
