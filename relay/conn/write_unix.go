//go:build unix

package conn

import (
	"os"
	"syscall"
)

// writeNow writes to a socket that does not block; n is 0 when it takes nothing now.
func writeNow(fd uintptr, p []byte) (n int, err error) {
	n, err = syscall.Write(int(fd), p)
	switch err {
	case nil:
		return n, nil
	case syscall.EAGAIN, syscall.EINTR:
		return 0, nil
	}
	return 0, os.NewSyscallError("write", err)
}
