package conn

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"fencepost/lifecycle"
)

// ClientPeer returns who sent r. Forwarded headers are believed only when the
// request comes from one of trusted: the client is then the rightmost address
// of X-Forwarded-For that is not trusted itself, and X-Forwarded-Proto and
// X-Forwarded-Host are taken from the proxy that saw that client. The Addr is
// the zero Addr when it cannot be told.
func ClientPeer(r *http.Request, trusted []netip.Prefix) lifecycle.Peer {
	addr := parseAddr(r.RemoteAddr)
	scheme, host := "ws", r.Host
	if r.TLS != nil {
		scheme = "wss"
	}
	if isTrusted(addr, trusted) {
		hop := 0
		addr, hop = forwardedFor(r.Header, addr, trusted)
		if proto := forwarded(r.Header, "X-Forwarded-Proto", hop); proto != "" {
			scheme = webSocketScheme(proto)
		}
		if h := forwarded(r.Header, "X-Forwarded-Host", hop); h != "" {
			host = h
		}
	}
	u := url.URL{Scheme: scheme, Host: host, Path: r.URL.Path}
	return lifecycle.Peer{Addr: addr, URL: u.String()}
}

// forwardedFor walks X-Forwarded-For from the right, where the nearest proxy
// writes, to the first address that is not trusted. hop counts the trusted ones
// passed. An entry that is no address ends the walk at who reported it.
func forwardedFor(h http.Header, from netip.Addr, trusted []netip.Prefix) (addr netip.Addr, hop int) {
	list := headerList(h, "X-Forwarded-For")
	for i, entry := range slices.Backward(list) {
		next := parseAddr(entry)
		if !next.IsValid() {
			return from, hop
		}
		if from = next; i == 0 || !isTrusted(next, trusted) {
			return from, hop
		}
		hop++
	}
	return from, hop
}

// forwarded returns what the proxy hop steps from here has written: that many
// values from the right, or the leftmost if the proxies kept only one.
func forwarded(h http.Header, name string, hop int) string {
	list := headerList(h, name)
	if len(list) == 0 {
		return ""
	}
	return list[max(0, len(list)-1-hop)]
}

// headerList returns the elements of a list header that may come on several lines.
func headerList(h http.Header, name string) (list []string) {
	for _, line := range h.Values(name) {
		for entry := range strings.SplitSeq(line, ",") {
			if entry = strings.TrimSpace(entry); entry != "" {
				list = append(list, entry)
			}
		}
	}
	return list
}

func webSocketScheme(proto string) string {
	switch strings.ToLower(proto) {
	case "https", "wss":
		return "wss"
	}
	return "ws"
}

func isTrusted(addr netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// parseAddr reads an address with or without port and brackets, and without
// zone. An IPv4 address mapped to IPv6 is the IPv4 address.
func parseAddr(s string) netip.Addr {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone("")
	}
	s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}
