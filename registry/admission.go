package registry

import (
	"errors"
	"net/netip"
	"sync"
)

// ErrFull is returned when the relay has as many connections as it may have.
var ErrFull = errors.New("too many connections")

// ErrAddressFull is returned when one address has as many as it may have.
var ErrAddressFull = errors.New("too many connections from this address")

// Admissions counts connections in total and by network. An IPv6 client counts
// by its /64, because it can use every address of it.
type Admissions struct {
	mu sync.Mutex // guards the fields below; nothing else happens under it
	// +checklocks:mu
	total int
	// +checklocks:mu
	counts map[netip.Prefix]int // network -> admitted connections, never 0
}

// NewAdmissions returns Admissions that have counted nothing.
func NewAdmissions() *Admissions {
	return &Admissions{counts: make(map[netip.Prefix]int)}
}

// Admit counts one more connection from addr, or returns ErrFull or
// ErrAddressFull when that would exceed a cap; 0 is no cap. The test and the
// count are one step, so racing admissions never exceed it. release gives the
// place back; calls after the first do nothing. An address that is not known (the
// zero Addr) counts in total only.
func (a *Admissions) Admit(addr netip.Addr, perAddress, total int) (release func(), err error) {
	network := networkOf(addr)
	if err := a.admit(network, perAddress, total); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { a.release(network) }), nil
}

func (a *Admissions) admit(network netip.Prefix, perAddress, total int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if total > 0 && a.total >= total {
		return ErrFull
	}
	if network.IsValid() {
		if perAddress > 0 && a.counts[network] >= perAddress {
			return ErrAddressFull
		}
		a.counts[network]++
	}
	a.total++
	return nil
}

func (a *Admissions) release(network netip.Prefix) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.total--
	if !network.IsValid() {
		return
	}
	if a.counts[network]--; a.counts[network] == 0 {
		delete(a.counts, network)
	}
}

// Admitted returns how many connections are admitted, and from how many networks.
func (a *Admissions) Admitted() (total, networks int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.total, len(a.counts)
}

// networkOf returns the network that addr counts as; the zero Prefix for the
// zero Addr.
func networkOf(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	network, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return network
}
