//go:build unix

package relay

import (
	"math"
	"syscall"
)

// descriptors returns how many file descriptors the process may have, or 0 when
// that cannot be told. The Go runtime has raised the soft limit to the hard one.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0 // the cap of the configuration holds
	}
	return int(min(uint64(limit.Cur), math.MaxInt32)) // no limit is a huge number
}
