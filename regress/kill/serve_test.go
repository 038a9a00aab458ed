package kill_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// TestDemonstration is the one of README: one real event in, one real
// subscription out, the relay killed, started again, the event still there.
func TestDemonstration(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	p := start(t, data)
	reader, writer := p.dial(t), p.dial(t)
	notes := []*wire.Filter{wire.NewFilter(nostr.Filter{Kinds: []int{1}})}
	require.NoError(t, reader.Send(t.Context(), wire.AppendReq(nil, "notes", notes)))
	require.Equal(t, "notes", next(t, reader, "EVENT", "EOSE").Sub)
	hello := event(t, 1, 1, "hello")
	require.NoError(t, writer.Publish(t.Context(), hello))
	require.Equal(t, hello.Raw(), next(t, reader, "EVENT").Event.Raw())

	p.signal(t, syscall.SIGKILL)
	require.Equal(t, -1, p.end(t))

	p = start(t, data)
	again := stored(t, p.dial(t), nostr.Filter{Kinds: []int{1}})
	require.Len(t, again, 1)
	require.Equal(t, hello.Raw(), again[0].Raw())
}

func TestSecondProcessOnOneFolderIsRefused(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	p := start(t, data)
	for _, args := range [][]string{
		{"serve", "--data", data, "--listen", "127.0.0.1:0"},
		{"import", "--data", data, "-"},
		{"export", "--data", data},
	} {
		code, stdout, stderr := command(t, strings.NewReader(""), args...)
		require.Equal(t, 1, code, args)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "in use by another process")
		require.Contains(t, stderr, data)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
	require.NoError(t, p.dial(t).Publish(t.Context(), event(t, 1, 1, "the first one is not disturbed")))
}

// TestIdleRelayTakesEventsAfterRestart is about a database that has nothing to
// write at its start, which must not be taken for one that cannot write.
func TestIdleRelayTakesEventsAfterRestart(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	for range 3 {
		p := start(t, data)
		p.signal(t, syscall.SIGTERM)
		require.Zero(t, p.end(t), p.logged())
	}
	p := start(t, data)
	c := p.dial(t)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := range 20 {
		<-tick.C // the database's background work comes in between
		require.NoError(t, c.Publish(t.Context(), event(t, n+1, 1, "after restart")), p.logged())
	}
	require.NotContains(t, p.logged(), "level=ERROR")
}

func TestAddressInUseIsAFailure(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	code, _, stderr := command(t, nil, "serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", l.Addr().String())
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "address already in use")
}

func TestTermDrains(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			p := start(t, data)
			c := p.dial(t)
			e := event(t, 1, 1, "before the drain")
			require.NoError(t, c.Publish(t.Context(), e))
			require.NoError(t, c.Send(t.Context(), wire.AppendReq(nil, "live", []*wire.Filter{wire.NewFilter(nostr.Filter{})})))
			require.Equal(t, "live", next(t, c, "EOSE").Sub)
			p.signal(t, s)
			closed := next(t, c, "CLOSED")
			require.Equal(t, "live", closed.Sub)
			require.True(t, strings.HasPrefix(closed.Text, "error: "), closed.Text)
			_, err := c.Next(t.Context())
			require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err), err)
			require.Zero(t, p.end(t), p.logged())

			p = start(t, data)
			requireStored(t, p.dial(t), []string{e.ID})
		})
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	// A request that never ends holds up the drain.
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "ws://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("GET / HTTP/1.1\r\n"))
	require.NoError(t, err)
	name(t, p) // a later connection was accepted, so that one was

	p.signal(t, syscall.SIGTERM)
	p.await(t, regexp.MustCompile("msg=draining"))
	again := time.NewTicker(50 * time.Millisecond) // one that comes at once counts as the first
	defer again.Stop()
	for ended := false; !ended; {
		select {
		case <-again.C:
			ended = p.cmd.Process.Signal(syscall.SIGTERM) != nil
		case line, ok := <-p.lines:
			ended = !ok || strings.Contains(line, "stopped by a second signal")
		}
	}
	require.Equal(t, 1, p.end(t))
	require.Contains(t, p.logged(), "fencepost: stopped by a second signal")
	require.NotContains(t, p.logged(), "msg=stopped")
}

func TestMalformedConfigurationKeepsTheOldOne(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "fencepost.toml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("[relay]\nname = \"first\"\n[events]\nmax_content = 10\n")
	p := start(t, filepath.Join(t.TempDir(), "data"), "--config", file)
	require.Equal(t, "first", name(t, p))

	write("[relay]\nname = \"broken\"\nnmae = \"typo\"\n[events]\nmax_content = \"many\"\n")
	p.signal(t, syscall.SIGHUP)
	said := p.await(t, regexp.MustCompile(`configuration not reloaded, the old one stays.*`))
	require.Contains(t, said[0], "relay.nmae")
	require.Contains(t, said[0], "events.max_content", "all problems at once")
	require.Equal(t, "first", name(t, p))
	c := p.dial(t)
	var refusal *client.Refusal
	require.ErrorAs(t, c.Publish(t.Context(), event(t, 1, 1, "more than ten characters")), &refusal)

	write("listen = \"127.0.0.1:1\"\n[relay]\nname = \"second\"\n")
	p.signal(t, syscall.SIGHUP)
	p.await(t, regexp.MustCompile("msg=\"configuration reloaded\".*relay.name"))
	require.Equal(t, "second", name(t, p))
	require.NoError(t, c.Publish(t.Context(), event(t, 1, 1, "more than ten characters")), "a limit changes for open connections")
	p.signal(t, syscall.SIGTERM)
	require.Zero(t, p.end(t))
}

// name returns the name in the relay information document (NIP-11).
func name(t *testing.T, p *process) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http"+strings.TrimPrefix(p.url, "ws"), nil)
	require.NoError(t, err)
	request.Header.Set("Accept", "application/nostr+json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var document struct{ Name string }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&document))
	return document.Name
}

func TestStormAgainstTheBinary(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	code, stdout, stderr := command(t, nil, "race", p.url, "--connections=8", "--duration=1s", "--patience=60s")
	require.Zero(t, code, stdout+stderr)
	require.Regexp(t, `\ntotal +0 +in `, stdout)
	require.Empty(t, stderr)
}
