//go:build !linux

package postgres

import "syscall"

// userTimeout does nothing where sockets have no such option; keep-alive remains.
func userTimeout(_, _ string, _ syscall.RawConn) error { return nil }
