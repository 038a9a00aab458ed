package aio

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What linux/aio_abi.h says.
const (
	cmdFdsync = 3
	flagResfd = 1
)

// iocb is struct iocb; what has no name here is zero.
type iocb struct {
	_      uint64    // aio_data
	_      [2]uint32 // aio_key and aio_rw_flags
	opcode uint16
	_      int16 // aio_reqprio
	fd     uint32
	_      [4]uint64 // aio_buf, aio_nbytes, aio_offset, aio_reserved2
	flags  uint32
	resfd  uint32 // the eventfd that is signalled at the end
}

// event is struct io_event.
type event struct {
	_      [2]uint64 // data and obj
	result int64
	_      int64 // res2
}

// failure is the error with which what was asked for has ended.
func (e event) failure() error {
	if e.result < 0 {
		return unix.Errno(-e.result)
	}
	return nil
}

// Syncer syncs files, one at a time.
type Syncer struct {
	mu sync.Mutex // guards the fields below; held while a file is synced
	// +checklocks:mu
	context uintptr // aio_context_t; 0 once closed
	// +checklocks:mu
	eventfd *os.File
	// +checklocks:mu
	request iocb // of the Sync that runs, but for the file
}

// New returns a Syncer, or an error where the kernel has no asynchronous I/O, none left
// (fs.aio-max-nr), or none for this process (seccomp).
func New() (*Syncer, error) {
	s := new(Syncer)
	if _, _, errno := unix.Syscall(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&s.context)), 0); errno != 0 {
		return nil, fmt.Errorf("io_setup: %w", errno)
	}
	if _, err := s.ended(0); err != nil { // behind a submit it would be too late to do without
		destroy(s.context)
		return nil, fmt.Errorf("io_getevents: %w", err)
	}
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		destroy(s.context)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	s.eventfd = os.NewFile(uintptr(fd), "eventfd")
	s.request = iocb{opcode: cmdFdsync, flags: flagResfd, resfd: uint32(fd)}
	return s, nil
}

// Sync blocks until what was written to the file fd is durable, as fdatasync does, and
// fails as it does, with an errno. It waits for another Sync that runs. The caller keeps
// fd open meanwhile.
func (s *Syncer) Sync(fd uintptr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.context == 0 || !s.submit(fd) {
		return again(func() error { return unix.Fdatasync(int(fd)) })
	}
	var count [8]byte
	_, _ = s.eventfd.Read(count[:]) // should that fail, the next call blocks instead
	done, err := s.ended(1)
	if err != nil {
		return err
	}
	return done.failure()
}

// ended waits for the end of so many requests, one at most, and returns what became of it.
//
// +checklocks:s.mu
func (s *Syncer) ended(least uintptr) (done event, err error) {
	err = again(func() error {
		if _, _, errno := unix.Syscall6(unix.SYS_IO_GETEVENTS, s.context, least, 1, uintptr(unsafe.Pointer(&done)), 0, 0); errno != 0 {
			return errno
		}
		return nil
	})
	return done, err
}

// submit reports whether the kernel has taken the request.
//
// +checklocks:s.mu
func (s *Syncer) submit(fd uintptr) bool {
	s.request.fd = uint32(fd)
	list := &s.request // the kernel copies what it points to
	n, _, errno := unix.Syscall(unix.SYS_IO_SUBMIT, s.context, 1, uintptr(unsafe.Pointer(&list)))
	return errno == 0 && n == 1
}

// Close waits for the Sync that runs; later ones are fdatasync. It may be called again,
// and of none.
func (s *Syncer) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.context == 0 {
		return nil
	}
	destroy(s.context)
	s.context = 0
	return s.eventfd.Close()
}

func destroy(context uintptr) { _, _, _ = unix.Syscall(unix.SYS_IO_DESTROY, context, 0, 0) }

// again repeats a system call that a signal has interrupted.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
