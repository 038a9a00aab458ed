package embedded

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"fencepost/relay/store"
)

// schema is the version of the layout in keys.go.
const schema = 1

// Open opens the store in the folder dir, which is made when it does not exist,
// and starts its writer. The error wraps store.ErrInUse when another process, or
// another store of this one, has the folder, and store.ErrSchema when the folder
// was written by another version. A folder that lost all it had with its write-ahead log
// is refused. One that cannot be written, such as on a full disk, is opened all the same
// if it holds a store; see the package.
func Open(dir string, opt Options) (*Store, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", dir, err)
	}
	return open(vfs.Default, path, opt)
}

func open(fs vfs.FS, dir string, opt Options) (*Store, error) {
	opt = opt.withDefaults()
	lock, err := lockFolder(fs, dir)
	if err != nil {
		return nil, err
	}
	anew, err := checkLog(fs, dir, lock, opt)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	e, err := openBest(fs, dir, lock, opt)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	epoch, err := identify(e)
	if err == nil && anew && e.health.fatal() == nil {
		epoch, err = renew(e)
	}
	if err == nil && !opt.Copying {
		err = refuseCopying(e)
	}
	if err == nil {
		opt.Search, err = prepareWords(e, opt)
	}
	if err != nil {
		return nil, errors.Join(err, e.close(), lock.Close())
	}
	s := newStore(fs, dir, lock, e, epoch, opt)
	if err := s.adopt(e); err != nil {
		return nil, errors.Join(err, e.close(), lock.Close())
	}
	if err := e.health.fatal(); err != nil {
		opt.Logger.Error("data folder can be read only, for now", "err", err)
		s.refusing.Store(true)
	}
	s.writer.Go(s.write)
	return s, nil
}

// lockFolder makes the folder and takes Pebble's lock on it.
func lockFolder(fs vfs.FS, dir string) (*pebble.Lock, error) {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	lock, err := pebble.LockDirectory(dir, fs)
	if err == nil {
		return lock, nil
	}
	// Whatever else stops the lock's file stops another file as well.
	if probe := writeProbe(fs, dir, 1); probe != nil {
		return nil, fmt.Errorf("lock data folder %s: %w", dir, err)
	}
	return nil, fmt.Errorf("data folder %s: %w (%w)", dir, store.ErrInUse, err)
}

// identify checks the schema and returns the epoch; an empty database gets both.
func identify(e *engine) (store.Epoch, error) {
	version, ok, err := getValue(e.db, keySchema)
	if err != nil {
		return "", err
	}
	if !ok {
		return create(e)
	}
	if len(version) != 4 {
		return "", fmt.Errorf("schema version: %w", errCorrupt)
	}
	if found := binary.BigEndian.Uint32(version); found != schema {
		return "", fmt.Errorf("data folder has schema %d, this binary knows %d: %w", found, schema, store.ErrSchema)
	}
	epoch, ok, err := getValue(e.db, keyEpoch)
	if err == nil && !ok {
		err = fmt.Errorf("epoch: %w", errCorrupt)
	}
	return store.Epoch(epoch), err
}

func create(e *engine) (store.Epoch, error) {
	empty, err := isEmpty(e.db)
	if err != nil {
		return "", err
	}
	if !empty {
		return "", fmt.Errorf("data folder holds a database that is not this program's: %w", store.ErrSchema)
	}
	epoch := newEpoch()
	b := e.db.NewBatch()
	defer func() { _ = b.Close() }() // only gives memory back
	if err := errors.Join(
		b.Set(keySchema, binary.BigEndian.AppendUint32(nil, schema), nil),
		b.Set(keyEpoch, []byte(epoch), nil),
		b.Set(keyHead, binary.BigEndian.AppendUint64(nil, 0), nil),
	); err != nil {
		return "", err
	}
	return epoch, e.commit(b)
}

// renew gives the log another epoch.
func renew(e *engine) (store.Epoch, error) {
	epoch := newEpoch()
	b := e.db.NewBatch()
	defer func() { _ = b.Close() }() // only gives memory back
	if err := b.Set(keyEpoch, []byte(epoch), nil); err != nil {
		return "", err
	}
	return epoch, e.commit(b)
}

func newEpoch() store.Epoch {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return store.Epoch(hex.EncodeToString(random[:]))
}

func isEmpty(db *pebble.DB) (bool, error) {
	it, err := db.NewIter(nil)
	if err != nil {
		return false, err
	}
	empty := !it.First()
	return empty, errors.Join(it.Error(), it.Close())
}
