package conn_test

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/conn"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// try asks for an upgrade and returns the answer; the connection stays open.
func try(t testing.TB, r *relay, extra ...string) *http.Response {
	header := http.Header{}
	for i := 0; i < len(extra); i += 2 {
		header.Add(extra[i], extra[i+1])
	}
	ws, res, err := websocket.Dial(t.Context(), url(r), &websocket.DialOptions{HTTPHeader: header})
	if err == nil {
		t.Cleanup(func() { _ = ws.CloseNow() })
	}
	require.NotNil(t, res, err)
	return res
}

func TestOverACapTheClientIsToldToComeBack(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(o *conn.Options)
		status int
		reason string
	}{
		"per address": {func(o *conn.Options) { o.MaxPerAddress = 2 }, 429, "address"},
		"total":       {func(o *conn.Options) { o.MaxTotal = 2 }, 503, "total"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, session{}, tt.change)
			require.Equal(t, 101, try(t, r).StatusCode)
			require.Equal(t, 101, try(t, r).StatusCode)
			res := try(t, r)
			require.Equal(t, tt.status, res.StatusCode)
			require.NotEmpty(t, res.Header.Get("Retry-After"))
			require.Equal(t, map[string]int{tt.reason: 1}, r.counts.refused)
		})
	}
}

func TestBlockedAddressesGetNothing(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, func(o *conn.Options) {
		o.TrustedProxies = loopback
		o.Blocked = func(addr netip.Addr) bool { return addr == netip.MustParseAddr("192.0.2.1") }
	})
	require.Equal(t, 403, try(t, r, "X-Forwarded-For", "192.0.2.1").StatusCode)
	require.Equal(t, 101, try(t, r, "X-Forwarded-For", "192.0.2.2").StatusCode)
	require.Equal(t, map[string]int{"blocked": 1}, r.counts.refused)
	r.Update(conn.Options{Limits: limits(), TrustedProxies: loopback})
	require.Equal(t, 403, try(t, r, "X-Forwarded-For", "192.0.2.1").StatusCode, "a reload keeps who is blocked")
}

func TestTheGateHoldsForAllOfHTTP(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, func(o *conn.Options) {
		o.Blocked = func(addr netip.Addr) bool { return addr == netip.MustParseAddr("192.0.2.1") }
	})
	page := r.Gate(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for from, status := range map[string]int{"192.0.2.1:5000": 403, "192.0.2.2:5000": 204} {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.RemoteAddr = from
		w := httptest.NewRecorder()
		page.ServeHTTP(w, req)
		require.Equal(t, status, w.Code)
	}
	require.Equal(t, map[string]int{"blocked": 1}, r.counts.refused)
}

// The block comes after the client was admitted: nobody looked for it among the
// connections that there were.
func TestWhoIsBlockedDuringTheUpgradeIsEnded(t *testing.T) {
	block := func(o *conn.Options) { o.Blocked = func(netip.Addr) bool { return true } }
	inBubble(t, session{}, block, func(t *testing.T, r *relay) {
		m := newMemory() // has been let in
		r.Serve(t.Context(), m, lifecycle.Peer{})
		require.Equal(t, []string{closePayload(1008, "blocked: this address is banned")}, m.said())
	})
}

func TestRacingClientsNeverExceedTheCap(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, func(o *conn.Options) { o.MaxPerAddress = 5 })
	var in, out atomic.Int64
	var clients sync.WaitGroup
	for range 30 {
		clients.Go(func() {
			switch try(t, r).StatusCode {
			case 101:
				in.Add(1)
			case 429:
				out.Add(1)
			}
		})
	}
	clients.Wait()
	require.Equal(t, int64(5), in.Load())
	require.Equal(t, int64(25), out.Load())
}

func TestCapsCountWhoIsBehindATrustedProxy(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, func(o *conn.Options) { o.MaxPerAddress, o.TrustedProxies = 1, loopback })
	require.Equal(t, 101, try(t, r, "X-Forwarded-For", "2001:db8::1").StatusCode)
	require.Equal(t, 429, try(t, r, "X-Forwarded-For", "2001:db8::2").StatusCode, "the same /64")
	require.Equal(t, 101, try(t, r, "X-Forwarded-For", "2001:db8:0:1::1").StatusCode)
	addrs := []string{(<-r.opened).Peer().Addr.String(), (<-r.opened).Peer().Addr.String()}
	require.ElementsMatch(t, []string{"2001:db8::1", "2001:db8:0:1::1"}, addrs)
}

func TestANewCapHoldsForNewConnections(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, func(o *conn.Options) { o.MaxTotal = 1 })
	require.Equal(t, 101, try(t, r).StatusCode)
	require.Equal(t, 503, try(t, r).StatusCode)
	r.Update(conn.Options{Limits: limits(), MaxTotal: 2})
	require.Equal(t, 101, try(t, r).StatusCode)
	require.Equal(t, 503, try(t, r).StatusCode)
}

func TestWhileTheRelayDrainsNobodyComesIn(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, nil)
	r.gone(t)
	require.Equal(t, 503, try(t, r).StatusCode)
	require.Equal(t, map[string]int{"draining": 1}, r.counts.refused)
}

func TestAnyOriginMayConnect(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, nil)
	require.Equal(t, 101, try(t, r, "Origin", "https://elsewhere.example").StatusCode)
}

func TestWhatIsNoHandshakeIsRefusedInHTTP(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		old, new string
		status   int
	}{
		"not GET":       {"GET /", "POST /", 405},
		"no upgrade":    {"Upgrade: websocket", "Upgrade: h2c", 426},
		"wrong version": {"Version: 13", "Version: 12", 400},
		"bad key":       {"Key: dGhl", "Key: dG", 400},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, session{}, nil)
			c, err := net.Dial("tcp", r.http.Listener.Addr().String())
			require.NoError(t, err)
			defer c.Close()
			broken := strings.Replace(request, tt.old, tt.new, 1)
			require.NotEqual(t, request, broken)
			_, err = c.Write([]byte(broken + "Connection: close\r\n\r\n"))
			require.NoError(t, err)
			var res bytes.Buffer
			_, err = res.ReadFrom(c)
			require.NoError(t, err)
			require.Contains(t, res.String()[:12], strconv.Itoa(tt.status))
			require.Equal(t, map[string]int{"handshake": 1}, r.counts.refused)
		})
	}
}
