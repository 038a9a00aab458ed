package aio_test

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fencepost/relay/store/aio"
)

// refused is the variable that names the system call which a child of the test is refused.
const refused = "FENCEPOST_TEST_REFUSED"

// refuse has the kernel answer the calls of one number with EPERM, in this process and from
// now on, as a container's profile does.
func refuse(t *testing.T, call uint32) {
	t.Helper()
	runtime.LockOSThread() // that of Prctl and of the filter
	defer runtime.UnlockOSThread()
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number, which comes first
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	require.NoError(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		t.Skipf("no filter can be set here: %v", errno)
	}
}

func TestWhatAFilterRefusesIsDoneWithout(t *testing.T) {
	if call := os.Getenv(refused); call != "" {
		number, err := strconv.ParseUint(call, 10, 32)
		require.NoError(t, err)
		refuse(t, uint32(number))
		if s, err := aio.New(); err == nil {
			require.NoError(t, s.Sync(file(t).Fd()))
			require.NoError(t, s.Close())
		}
		return
	}
	for name, call := range map[string]int{"io_setup": unix.SYS_IO_SETUP, "io_submit": unix.SYS_IO_SUBMIT, "io_getevents": unix.SYS_IO_GETEVENTS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWhatAFilterRefusesIsDoneWithout$", "-test.count=1")
			child.Env = append(os.Environ(), refused+"="+strconv.Itoa(call))
			out, err := child.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
