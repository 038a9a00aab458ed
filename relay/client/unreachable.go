package client

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
)

// Unreachable is why a relay could not be connected to. Its text is the cause in a few
// words, without the libraries that it came through; Err has all of it.
type Unreachable struct {
	URL string
	Err error
}

func (u *Unreachable) Error() string { return "connect to " + u.URL + ": " + why(u.Err) }

// Unwrap returns the whole error.
func (u *Unreachable) Unwrap() error { return u.Err }

func why(err error) string {
	var lookup *net.DNSError
	var system syscall.Errno
	var certificate *tls.CertificateVerificationError
	var late interface{ Timeout() bool }
	switch {
	case errors.As(err, &lookup):
		return lookup.Err // "no such host", mostly
	case gone(err):
		return goneText
	case errors.As(err, &system):
		return system.Error() // "connection refused", mostly
	case errors.As(err, &certificate):
		return certificate.Error()
	case errors.As(err, &late) && late.Timeout():
		return "no answer in time"
	}
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return err.Error()
}
