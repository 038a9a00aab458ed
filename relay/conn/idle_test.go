package conn_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/registry"
	"fencepost/relay/conn"
	"fencepost/relay/wire"
)

const idleServer = "FENCEPOST_IDLE_SERVER"

// serveIdle is the relay of BenchmarkIdle: every message opens a subscription. It
// prints its address and ends with its standard input.
func serveIdle() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	s := conn.NewServer(ctx, conn.Options{
		Open: func(c *lifecycle.Conn) conn.Session {
			return &session{c: c, handle: func(ctx context.Context, c *lifecycle.Conn, msg []byte) {
				m, err := wire.Decode(msg)
				req, ok := m.(*wire.ReqMessage)
				if err != nil || !ok {
					return
				}
				h, _, err := c.Reserve(ctx, req.ID, req.Filters)
				if err != nil {
					return
				}
				c.Query(h.Context(), "query", func(context.Context) { _, _ = h.GoLive(wire.HintFinish) })
			}}
		},
		Limits: limits(), MaxMessage: 128 << 10, PingInterval: time.Minute, PongTimeout: time.Minute,
		WriteTimeout: time.Minute, FlushTimeout: time.Second,
		Registry: registry.New(), Logger: slog.New(slog.DiscardHandler),
	})
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	fmt.Println(l.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// BenchmarkIdle measures what an idle connection with one subscription costs a
// relay that is a process of its own.
func BenchmarkIdle(b *testing.B) {
	const n = 3000
	for b.Loop() {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), idleServer+"=1")
		in, err := cmd.StdinPipe()
		require.NoError(b, err)
		out, err := cmd.StdoutPipe()
		require.NoError(b, err)
		require.NoError(b, cmd.Start())
		addr, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(b, err)

		before := resident(b, cmd.Process.Pid)
		clients := make([]net.Conn, n)
		for i := range clients {
			clients[i] = openIdle(b, strings.TrimSpace(addr))
		}
		b.ReportMetric(float64(resident(b, cmd.Process.Pid)-before)/n, "KiB/conn")
		b.ReportMetric(0, "ns/op")
		for _, c := range clients {
			require.NoError(b, c.Close())
		}
		require.NoError(b, in.Close())
		require.NoError(b, cmd.Wait())
	}
}

// openIdle connects, subscribes and waits for EOSE.
func openIdle(b *testing.B, addr string) net.Conn {
	c, err := net.Dial("tcp", addr)
	require.NoError(b, err)
	_, err = io.WriteString(c, request+"\r\n")
	require.NoError(b, err)
	_, err = c.Write(maskedFrame(text, `["REQ","sub",{"kinds":[1],"authors":["`+strings.Repeat("ab", 32)+`"],"limit":10}]`))
	require.NoError(b, err)
	got := make([]byte, 0, 512)
	for !strings.Contains(string(got), "EOSE") {
		n, err := c.Read(got[len(got):cap(got)])
		require.NoError(b, err)
		got = got[:len(got)+n]
	}
	return c
}

// resident returns VmRSS in KiB.
func resident(b *testing.B, pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(b, err)
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(b, err)
	return kib
}
