package embedded

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

var errLogLost = errors.New("the write-ahead log (*.log) was removed, and with it all that was here: put its files back, or begin in an empty folder")

// checkLog refuses a folder of which nothing is left because its write-ahead log was removed:
// Pebble would begin a new database in it. Where tables are left it says that the log is
// not, and anew that the log of events needs another epoch, as positions will be given again.
// Earlier versions left no log either where the disk had no room for one, and nothing is lost
// then. It changes nothing in the folder, so that the next Open says the same.
func checkLog(fs vfs.FS, dir string, lock *pebble.Lock, o Options) (anew bool, err error) {
	if !missesLog(fs, dir) {
		return false, nil
	}
	e, err := openReadOnly(fs, dir, lock, o, nil)
	if err != nil {
		return false, err
	}
	_, begun, err := getValue(e.db, keySchema)
	if err = errors.Join(err, e.close()); err != nil {
		return false, err
	}
	if !begun {
		return false, fmt.Errorf("data folder %s: %w", dir, errLogLost)
	}
	o.Logger.Warn("data folder has no write-ahead log; unless its disk was full the newest events are lost", "folder", dir)
	return true, nil
}

// missesLog reports whether a database was opened here before and has no log. Pebble syncs the
// first log to the folder before it writes its first file of options, and leaves one of
// either whenever it removes another.
func missesLog(fs vfs.FS, dir string) bool {
	names, err := fs.List(dir)
	if err != nil {
		return false // opening it will tell
	}
	opened := false
	for _, name := range names {
		if strings.HasSuffix(name, logSuffix) {
			return false
		}
		opened = opened || strings.HasPrefix(name, optionsPrefix)
	}
	return opened
}
