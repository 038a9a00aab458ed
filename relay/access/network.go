package access

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Blocked reports whether addr must not connect. It is asked before a connection
// is taken, and once more when it has been registered: a block that is applied later
// finds it there.
func (p *Policy) Blocked(addr netip.Addr) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if len(p.state.blocked) == 0 || !addr.IsValid() {
		return false
	}
	addr = addr.Unmap().WithZone("")
	for bits := addr.BitLen(); bits >= 0; bits-- {
		if net, err := addr.Prefix(bits); err == nil {
			if _, blocked := p.state.blocked[net]; blocked {
				return true
			}
		}
	}
	return false
}

// BlockAddress ends all connections from an address or network, such as 192.0.2.1
// or 2001:db8::/32, and takes no more.
func (p *Policy) BlockAddress(address, reason string) (store.Write, error) {
	text, err := normalNetwork(address)
	if err != nil {
		return store.Write{}, err
	}
	if known, blocked := p.blockReason(text); blocked && known == reason {
		return store.Write{}, nil
	}
	return with(store.Write{}, control.Row{Type: control.AddressBlocked, Address: text, Reason: reason})
}

// UnblockAddress takes back a block of exactly that address or network.
func (p *Policy) UnblockAddress(address string) (store.Write, error) {
	text, err := normalNetwork(address)
	if err != nil {
		return store.Write{}, err
	}
	if _, blocked := p.blockReason(text); !blocked {
		return store.Write{}, nil
	}
	return with(store.Write{}, control.Row{Type: control.AddressUnblocked, Address: text})
}

// BlockedAddresses returns the blocked networks in order; a single address stands
// without its length.
func (p *Policy) BlockedAddresses() []Listed {
	p.mu.RLock()
	defer p.mu.RUnlock()
	list := make([]Listed, 0, len(p.state.blocked))
	for net, reason := range p.state.blocked {
		list = append(list, Listed{Value: networkText(net), Reason: reason})
	}
	slices.SortFunc(list, func(a, b Listed) int { return cmp.Compare(a.Value, b.Value) })
	return list
}

func (p *Policy) blockReason(text string) (reason string, blocked bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	reason, blocked = p.state.blocked[network(text)]
	return reason, blocked
}

// normalNetwork brings an address or network into the one form that control rows
// have.
func normalNetwork(text string) (string, error) {
	text = strings.TrimSpace(text)
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().WithZone("").String(), nil
	}
	net, err := netip.ParsePrefix(text)
	if err != nil || net.Addr().Is4In6() {
		return "", wire.Because(wire.Invalid, "an address is an IP address or a network like 192.0.2.0/24")
	}
	return networkText(net.Masked()), nil
}

func networkText(net netip.Prefix) string {
	if net.IsSingleIP() {
		return net.Addr().String()
	}
	return net.String()
}
