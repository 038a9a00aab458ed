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
	Now        func() time.Time // the clock; time.Now
	CacheBytes int64            // memory for blocks and decoded events together; 128 MiB
	Logger     *slog.Logger     // silent

	// MinFreeBytes is the free space of the folder's disk below which commits are
	// refused, so that the database never meets a full disk itself; 128 MiB.
	// Negative turns the check off.
	MinFreeBytes int64
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

// databaseOptions configures Pebble: one bloom filter a table for the point
// reads that every append does, large memtables for few flushes, compression
// that gets stronger with the level.
func databaseOptions(fs vfs.FS, lock *pebble.Lock, o Options) *pebble.Options {
	db := &pebble.Options{
		FS:                          fs,
		Lock:                        lock,
		CacheSize:                   o.CacheBytes - o.eventCacheBytes(),
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                32 << 20,
		MemTableStopWritesThreshold: 4,
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
