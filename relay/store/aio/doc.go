// Package aio waits for fdatasync in the poller of the Go runtime instead of in a thread.
//
// A goroutine that blocks in a system call takes its P with it until the runtime notices,
// some 20 to 100 microseconds later, and wakes another thread; while that can happen the
// runtime's monitor polls. Linux syncs a file in a thread of the kernel and signals an
// eventfd (io_submit with IOCB_CMD_FDSYNC, since Linux 4.18), for which a goroutine waits
// as it does for a socket.
//
// That takes work from the process, which may have one core, and not from the machine: a
// commit costs the process 50 to 70 microseconds less CPU and the kernel's thread as much
// more, which no figure per CPU-second of the process shows.
//
// Where the kernel does not do that, not for a file, or not in a container, Sync is
// fdatasync. Nothing else differs: what Sync has returned nil for is durable. A Syncer has
// no goroutine. Whoever makes it closes it, after the last Sync.
package aio
