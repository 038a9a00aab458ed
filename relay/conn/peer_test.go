package conn_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/conn"
)

func TestClientPeer(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	const proxy = "10.0.0.1:5000"
	tests := map[string]struct {
		remote string
		tls    bool
		header []string // name, value, name, value
		addr   string
		url    string // when empty: ws://relay.test/sub
	}{
		"direct":               {remote: "192.0.2.1:99", addr: "192.0.2.1"},
		"direct over TLS":      {remote: "192.0.2.1:99", tls: true, addr: "192.0.2.1", url: "wss://relay.test/sub"},
		"direct IPv6":          {remote: "[2001:db8::1]:99", addr: "2001:db8::1"},
		"IPv6 with zone":       {remote: "[fe80::1%eth0]:99", addr: "fe80::1"},
		"mapped":               {remote: "[::ffff:192.0.2.1]:99", addr: "192.0.2.1"},
		"no address":           {remote: "@", addr: "invalid IP"},
		"stranger's headers":   {remote: "192.0.2.1:99", header: []string{"X-Forwarded-For", "198.51.100.7", "X-Forwarded-Host", "evil.test", "X-Forwarded-Proto", "https"}, addr: "192.0.2.1"},
		"proxy without header": {remote: proxy, addr: "10.0.0.1"},
		"one hop":              {remote: proxy, header: []string{"X-Forwarded-For", "192.0.2.1"}, addr: "192.0.2.1"},
		"mapped proxy":         {remote: "[::ffff:10.0.0.1]:1", header: []string{"X-Forwarded-For", "192.0.2.1"}, addr: "192.0.2.1"},
		"IPv6 proxy":           {remote: "[fd00::1]:1", header: []string{"X-Forwarded-For", "192.0.2.1"}, addr: "192.0.2.1"},
		"spoofed list":         {remote: proxy, header: []string{"X-Forwarded-For", "198.51.100.7, 192.0.2.1"}, addr: "192.0.2.1"},
		"without spaces":       {remote: proxy, header: []string{"X-Forwarded-For", "198.51.100.7,192.0.2.1,10.9.9.9"}, addr: "192.0.2.1"},
		"with many spaces":     {remote: proxy, header: []string{"X-Forwarded-For", "  192.0.2.1 ,\t10.9.9.9 ,  "}, addr: "192.0.2.1"},
		"several lines":        {remote: proxy, header: []string{"X-Forwarded-For", "198.51.100.7", "X-Forwarded-For", "192.0.2.1", "X-Forwarded-For", "10.2.2.2"}, addr: "192.0.2.1"},
		"all trusted":          {remote: proxy, header: []string{"X-Forwarded-For", "10.3.3.3, 10.2.2.2"}, addr: "10.3.3.3"},
		"with port":            {remote: proxy, header: []string{"X-Forwarded-For", "192.0.2.1:8080"}, addr: "192.0.2.1"},
		"bare IPv6":            {remote: proxy, header: []string{"X-Forwarded-For", "2001:db8::2"}, addr: "2001:db8::2"},
		"bracketed IPv6":       {remote: proxy, header: []string{"X-Forwarded-For", "[2001:db8::2]"}, addr: "2001:db8::2"},
		"IPv6 with port":       {remote: proxy, header: []string{"X-Forwarded-For", "[2001:db8::2]:443"}, addr: "2001:db8::2"},
		"mapped in list":       {remote: proxy, header: []string{"X-Forwarded-For", "192.0.2.1, ::ffff:10.4.4.4"}, addr: "192.0.2.1"},
		"unknown hop":          {remote: proxy, header: []string{"X-Forwarded-For", "192.0.2.1, unknown, 10.5.5.5"}, addr: "10.5.5.5"},
		"garbage":              {remote: proxy, header: []string{"X-Forwarded-For", "1.2.3.4.5"}, addr: "10.0.0.1"},
		"host and scheme": {
			remote: proxy, header: []string{"X-Forwarded-For", "192.0.2.1", "X-Forwarded-Proto", "HTTPS", "X-Forwarded-Host", "public.test:8443"},
			addr: "192.0.2.1", url: "wss://public.test:8443/sub",
		},
		"TLS to the proxy only": {remote: proxy, tls: true, header: []string{"X-Forwarded-Proto", "http"}, addr: "10.0.0.1"},
		"as seen at the edge": {
			remote: proxy,
			header: []string{"X-Forwarded-For", "192.0.2.1, 10.6.6.6", "X-Forwarded-Proto", "https, http", "X-Forwarded-Host", "public.test, inner.test"},
			addr:   "192.0.2.1", url: "wss://public.test/sub",
		},
		"spoofed host": {
			remote: proxy, header: []string{"X-Forwarded-For", "192.0.2.1", "X-Forwarded-Host", "evil.test, public.test"},
			addr: "192.0.2.1", url: "ws://public.test/sub",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "http://relay.test/sub?x=1", nil)
			r.RemoteAddr = tt.remote
			if tt.tls {
				r.TLS = &tls.ConnectionState{}
			}
			for i := 0; i < len(tt.header); i += 2 {
				r.Header.Add(tt.header[i], tt.header[i+1])
			}
			want := tt.url
			if want == "" {
				want = "ws://relay.test/sub"
			}
			peer := conn.ClientPeer(r, trusted)
			require.Equal(t, tt.addr, peer.Addr.String())
			require.Equal(t, want, peer.URL)
		})
	}
}

// FuzzClientPeer compares with the obvious way: of the plain addresses in the
// list, the last that is not trusted, or else the first.
func FuzzClientPeer(f *testing.F) {
	f.Add("192.0.2.1, 10.0.0.9", "10.1.1.1")
	f.Add("::ffff:192.0.2.1,fd00::1", "[2001:db8::1]:80")
	f.Add(",,", "x")
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, one, two string) {
		r := httptest.NewRequest(http.MethodGet, "http://relay.test/", nil)
		r.RemoteAddr = "10.0.0.1:1"
		r.Header["X-Forwarded-For"] = []string{one, two}
		got := conn.ClientPeer(r, trusted).Addr
		require.True(t, got.IsValid())
		require.False(t, got.Is4In6())
		want := netip.MustParseAddr("10.0.0.1")
		var list []netip.Addr
		for _, entry := range strings.Split(one+","+two, ",") {
			if strings.TrimSpace(entry) == "" {
				continue
			}
			addr, err := netip.ParseAddr(strings.TrimSpace(entry))
			if err != nil || addr.Zone() != "" {
				return // forms with ports, brackets or zones are in the table
			}
			list = append(list, addr.Unmap())
		}
		for i := len(list) - 1; i >= 0; i-- {
			want = list[i]
			if !trusted[0].Contains(want) {
				break
			}
		}
		require.Equal(t, want, got)
	})
}
