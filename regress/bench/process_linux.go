package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Fields of /proc/PID/stat after the process's name, from 0 (man proc).
const (
	statUser   = 11
	statSystem = 12
	statStart  = 19
)

// process is a relay's process. The zero value stands for one that is not known:
// asked for anything, it says errUnknown.
type process struct {
	pid   int
	start uint64 // when it started, since another may get its id
}

var errUnknown = errors.New("no process id was given")

// openProcess returns the process of that id; 0 gives the unknown one.
func openProcess(pid int) (process, error) {
	if pid == 0 {
		return process{}, nil
	}
	fields, err := stat(pid)
	if err != nil {
		return process{}, err
	}
	return process{pid: pid, start: fields[statStart]}, nil
}

// cpu returns the user and system time of all threads, ended ones included.
func (p process) cpu() (time.Duration, error) {
	if p.pid == 0 {
		return 0, errUnknown
	}
	fields, err := stat(p.pid)
	if err != nil {
		return 0, err
	}
	if fields[statStart] != p.start {
		return 0, fmt.Errorf("process %d ended", p.pid)
	}
	return time.Duration(fields[statUser]+fields[statSystem]) * tick, nil
}

func stat(pid int) (fields [20]uint64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return fields, fmt.Errorf("process %d: %w", pid, err)
	}
	text := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:]) // the name may hold anything
	if len(text) < len(fields) {
		return fields, fmt.Errorf("process %d: unknown form of /proc/PID/stat", pid)
	}
	for _, n := range []int{statUser, statSystem, statStart} {
		if fields[n], err = strconv.ParseUint(string(text[n]), 10, 64); err != nil {
			return fields, fmt.Errorf("process %d: %w", pid, err)
		}
	}
	return fields, nil
}

// memory returns resident bytes: with shared pages whole, and divided among those
// who share them.
func (p process) memory() (rss, pss int64, err error) {
	if p.pid == 0 {
		return 0, 0, errUnknown
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.pid))
	if err != nil {
		return 0, 0, fmt.Errorf("memory of process %d: %w", p.pid, err)
	}
	found := 0
	for line := range bytes.Lines(data) {
		for name, to := range map[string]*int64{"Rss:": &rss, "Pss:": &pss} {
			var kib int64
			if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == name {
				if kib, err = strconv.ParseInt(string(f[1]), 10, 64); err != nil {
					return 0, 0, fmt.Errorf("memory of process %d: %w", p.pid, err)
				}
				*to = kib << 10
				found++
			}
		}
	}
	if found != 2 {
		return 0, 0, fmt.Errorf("memory of process %d: unknown form of smaps_rollup", p.pid)
	}
	return rss, pss, nil
}

// ownCPU returns the time that this process has used.
func ownCPU() time.Duration { return used(unix.RUSAGE_SELF) }

// onThread runs f and returns the time that it used. f keeps its thread for itself.
func onThread(f func() error) (time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := used(unix.RUSAGE_THREAD)
	err := f()
	return used(unix.RUSAGE_THREAD) - before, err
}

func used(who int) time.Duration {
	var u unix.Rusage
	if unix.Getrusage(who, &u) != nil { // only for arguments that do not exist
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
