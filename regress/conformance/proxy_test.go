package conformance_test

import (
	"net/http"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// proxied trusts this machine and one network of proxies.
var proxied = []string{"NETWORK_TRUSTED_PROXIES=127.0.0.1,10.0.0.0/8", "NETWORK_MAX_CONNECTIONS_PER_ADDRESS=1"}

// FIELD_REPORTS 24: the cap per address tells which address the relay took.
func TestClientAddressIsTheRightmostUntrustedHop(t *testing.T) {
	t.Parallel()
	r := own(t, proxied...)
	connect := func(forwarded ...string) int {
		header := http.Header{}
		for _, line := range forwarded {
			header.Add("X-Forwarded-For", line)
		}
		_, resp, err := r.connect(t, &websocket.DialOptions{HTTPHeader: header})
		require.Equal(t, err == nil, resp.StatusCode == http.StatusSwitchingProtocols)
		return resp.StatusCode
	}
	const admitted, full = http.StatusSwitchingProtocols, http.StatusTooManyRequests
	for _, row := range []struct {
		forwarded []string
		status    int
	}{
		{[]string{"192.0.2.1"}, admitted},
		{[]string{"192.0.2.1"}, full},
		{[]string{"  192.0.2.1  "}, full},
		{[]string{"192.0.2.1, 10.1.2.3"}, full},
		{[]string{"192.0.2.1 ,10.1.2.3 ,  10.3.2.1"}, full},
		{[]string{"192.0.2.1", "10.1.2.3"}, full},
		{[]string{"203.0.113.9, 192.0.2.1"}, full},
		{[]string{"192.0.2.1:4711"}, full},
		{[]string{"::ffff:192.0.2.1"}, full},
		{[]string{"192.0.2.1, 203.0.113.9"}, admitted},
		{[]string{"2001:db8::1"}, admitted},
		{[]string{"2001:db8::2"}, full}, // one network of 64 bits
		{[]string{"[2001:db8:0:1::1]:80"}, admitted},
		{nil, admitted}, // the proxy itself
		{nil, full},
		{[]string{"nonsense"}, full}, // whoever reported it
		{[]string{"192.0.2.77, nonsense"}, full},
		{[]string{""}, full},
	} {
		require.Equal(t, row.status, connect(row.forwarded...), "%q", row.forwarded)
	}
}

// FIELD_REPORTS 24.
func TestForwardedForIsIgnoredWithoutTrustedProxies(t *testing.T) {
	t.Parallel()
	r := own(t, "NETWORK_MAX_CONNECTIONS_PER_ADDRESS=1")
	r.dial(t)
	_, resp, err := r.connect(t, &websocket.DialOptions{HTTPHeader: http.Header{"X-Forwarded-For": {"192.0.2.1"}}})
	require.Error(t, err)
	require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	require.NotEmpty(t, resp.Header.Get("Retry-After"))
}
