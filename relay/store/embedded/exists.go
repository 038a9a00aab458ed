package embedded

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Exists reports whether dir holds a store. It makes nothing and takes no lock.
func Exists(dir string) (bool, error) {
	found, err := pebble.Peek(dir, vfs.Default)
	if err != nil {
		return false, fmt.Errorf("data folder %s: %w", dir, err)
	}
	return found.Exists, nil
}
