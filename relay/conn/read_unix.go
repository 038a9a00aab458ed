//go:build unix

package conn

import "syscall"

// canTry says that readNow and writeNow work here.
const canTry = true

// readNow reads from a socket that does not block; again says that nothing is
// there now.
func readNow(fd uintptr, p []byte) (n int, again bool, err error) {
	for {
		n, err = syscall.Read(int(fd), p)
		switch err {
		case nil:
			return n, false, nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, true, nil
		default:
			return 0, false, err
		}
	}
}
