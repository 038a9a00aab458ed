package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	main "fencepost/cmd/fencepost"
	"fencepost/relay"
	"fencepost/relay/config"
	"fencepost/relay/wire"
)

// startRelay returns the URL of a relay that ends with the test.
func startRelay(t *testing.T, change ...func(*config.Config)) string {
	c := config.Default()
	c.Listen, c.Data = "127.0.0.1:0", t.TempDir()
	for _, f := range change {
		f(&c)
	}
	r, err := relay.New(t.Context(), relay.Options{Config: c, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return "ws://" + r.Addr().String()
}

func TestPublishAndSubscribe(t *testing.T) {
	t.Parallel()
	url := startRelay(t)
	const secret = "NOSTR_SECRET_KEY=0000000000000000000000000000000000000000000000000000000000000001"

	got := main.RunWith(t.Context(), strings.NewReader(""), []string{secret},
		"publish", url, "hello", "--kind", "7", "--tag", "t,demo", "--tag", "r,a b,c")
	require.Zero(t, got.Code, got.Stderr)
	ev, err := wire.DecodeEvent([]byte(strings.TrimSpace(got.Stdout)))
	require.NoError(t, err)
	require.NoError(t, ev.Verify())
	require.Equal(t, "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798", ev.PubKey)
	require.Equal(t, 7, ev.Kind)

	stored := main.Run(t.Context(), strings.NewReader(""), "subscribe", "--stored", url, `{"#t":["demo"]}`)
	require.Zero(t, stored.Code, stored.Stderr)
	require.Equal(t, got.Stdout, stored.Stdout)

	npub, err := nip19.EncodePublicKey(publicHex)
	require.NoError(t, err)
	got = main.Run(t.Context(), nil, "publish", url, "to whom", "--tag", "p,"+npub+",ws://x", "--tag", "t,"+npub)
	require.Zero(t, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, `["p","`+publicHex+`","ws://x"],["t","`+npub+`"]`)

	none := main.Run(t.Context(), strings.NewReader(""), "subscribe", "--stored", url, `{"#t":["other"]}`)
	require.Empty(t, none.Stdout)
	closed := main.Run(t.Context(), strings.NewReader(""), "subscribe", url, `{"search":"x"}`)
	require.Contains(t, closed.Stderr, "subscription closed: unsupported:")
	require.Equal(t, 1, closed.Code)
	require.Contains(t, main.Run(t.Context(), strings.NewReader(""), "subscribe", url, `{"x":1}`).Stderr, "filter: ")
	for _, bad := range []string{"nsec1vl029mgpspedva04g90", "abc"} {
		got := main.RunWith(t.Context(), strings.NewReader(""), []string{"NOSTR_SECRET_KEY=" + bad}, "publish", url, "x")
		require.Equal(t, 1, got.Code)
		require.Contains(t, got.Stderr, "NOSTR_SECRET_KEY is neither an nsec nor 64 hex digits")
		require.NotContains(t, got.Stderr, bad)
	}
	nsec := main.RunWith(t.Context(), strings.NewReader(""), []string{"NOSTR_SECRET_KEY=nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"},
		"publish", url, "x")
	require.Contains(t, nsec.Stdout, `"pubkey":"7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"`)
	require.Contains(t, main.Run(t.Context(), strings.NewReader(""), "publish", "http://x", "x").Stderr, "is not a ws:// or wss:// URL")
	refused := main.Run(t.Context(), strings.NewReader(""), "publish", url, "x", "--kind", "22242")
	require.Contains(t, refused.Stderr, "refused: invalid:")
}

// What publish would send goes elsewhere: into the frames of a fenced publisher.
func TestPublishPrintsInsteadOfPublishing(t *testing.T) {
	t.Parallel()
	const nobody = "ws://127.0.0.1:1"
	got := main.RunWith(t.Context(), nil, withSecret, "publish", "--print", nobody, "hello", "--kind=9", "--tag=h,pizza")
	require.Zero(t, got.Code, got.Stderr)
	require.Empty(t, got.Stderr)
	events := decodeLines(t, got.Stdout)
	require.Len(t, events, 1)
	require.NoError(t, events[0].Verify())
	require.Equal(t, publicHex, events[0].PubKey)
	require.Equal(t, 9, events[0].Kind)
	require.Equal(t, "hello", events[0].Content)
	require.Equal(t, nostr.Tags{{"h", "pizza"}}, events[0].Tags)
}

func TestPublishAuthenticatesWhenTheRelayAsksForIt(t *testing.T) {
	t.Parallel()
	url := startRelay(t, func(c *config.Config) { c.Auth.Require = config.RequireWrite })
	got := main.Run(t.Context(), strings.NewReader(""), "publish", url, "hello")
	require.Zero(t, got.Code, got.Stderr)
}

func TestSubscribeAuthenticatesWhenItHasAKey(t *testing.T) {
	t.Parallel()
	url := startRelay(t, func(c *config.Config) { c.Auth.Require = config.RequireAll })
	subscribe := func(env []string, flags ...string) main.Result {
		return main.RunWith(t.Context(), nil, env, append([]string{"subscribe", "--stored", url}, flags...)...)
	}
	require.Contains(t, subscribe(nil).Stderr, "subscription closed: auth-required:")
	require.Contains(t, subscribe(nil, "--auth").Stderr, "a secret key is needed")
	published := main.RunWith(t.Context(), nil, withSecret, "publish", url, "hello")
	require.Zero(t, published.Code, published.Stderr)
	for _, flags := range [][]string{nil, {"--auth"}} {
		got := subscribe(withSecret, flags...)
		require.Zero(t, got.Code, got.Stderr)
		require.Equal(t, published.Stdout, got.Stdout)
	}
}

func TestSubscribeSaysThatTheRelayIsGone(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, err := websocket.Accept(w, r, nil); err == nil {
			_ = conn.CloseNow() // as a killed one
		}
	}))
	t.Cleanup(server.Close)
	got := main.Run(t.Context(), nil, "subscribe", strings.Replace(server.URL, "http", "ws", 1))
	require.Equal(t, main.Result{Code: 1, Stderr: "fencepost: the relay closed the connection\n"}, got)
}

// A relay that has just been started in the background does not listen yet.
func TestPublishWaitsForARelayThatIsBeingStarted(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	published := make(chan main.Result, 1)
	go func() {
		published <- main.Run(t.Context(), strings.NewReader(""), "publish", "ws://"+address, "hello")
	}()
	startRelay(t, func(c *config.Config) { c.Listen = address })
	got := <-published
	require.Zero(t, got.Code, got.Stderr)
}

// A relay that is killed or begins to listen may take a connection and drop it.
func TestPublishTriesAgainWhenItsConnectionIsDropped(t *testing.T) {
	t.Parallel()
	relay := strings.TrimPrefix(startRelay(t), "ws://")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var door errgroup.Group
	door.Go(func() error {
		for _, drop := range []func(*net.TCPConn) error{
			func(c *net.TCPConn) error { return c.SetLinger(0) }, // a reset
			func(c *net.TCPConn) error { _, err := c.Read(make([]byte, 4096)); return err },
		} {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			if err := errors.Join(drop(c.(*net.TCPConn)), c.Close()); err != nil {
				return err
			}
		}
		in, err := l.Accept()
		if err != nil {
			return err
		}
		out, err := net.Dial("tcp", relay)
		if err != nil {
			return err
		}
		door.Go(func() error {
			_, _ = io.Copy(out, in) // how it ends is none of this test's business
			return out.Close()
		})
		_, _ = io.Copy(in, out)
		return in.Close()
	})
	got := main.Run(t.Context(), strings.NewReader(""), "publish", "ws://"+l.Addr().String(), "hello")
	require.NoError(t, l.Close())
	require.Zero(t, got.Code, got.Stderr)
	require.NoError(t, door.Wait())
}

func TestAdminManagesARelay(t *testing.T) {
	t.Parallel()
	url := startRelay(t, func(c *config.Config) { c.Relay.PubKey, c.Membership.Require = publicHex, config.RequireWrite })
	admin := func(env []string, args ...string) main.Result {
		return main.RunWith(t.Context(), nil, env, append([]string{"admin", url}, args...)...)
	}
	member := []string{"NOSTR_SECRET_KEY=" + strings.Repeat("2", 64)}
	key := strings.TrimSpace(main.RunWith(t.Context(), nil, member, "key", "show").Stdout)
	publish := func(args ...string) main.Result {
		return main.RunWith(t.Context(), nil, member, append([]string{"publish", url}, args...)...)
	}
	require.Contains(t, publish("x").Stderr, "restricted:")
	require.Contains(t, admin(member, "allowpubkey", key).Stderr, "restricted: only the operator")

	created := admin(withSecret, "createclaim")
	require.Zero(t, created.Code, created.Stderr)
	var claim struct{ Claim string }
	require.NoError(t, json.Unmarshal([]byte(created.Stdout), &claim))
	joined := publish("", "--kind=28934", "--tag=-", "--tag=claim,"+claim.Claim)
	require.Zero(t, joined.Code, joined.Stderr)
	require.Zero(t, publish("x").Code, "in force when the answer comes")
	require.Contains(t, admin(withSecret, "listallowedpubkeys").Stdout, key)

	require.Equal(t, "true\n", admin(withSecret, "blockip", "127.0.0.1").Stdout)
	require.Contains(t, publish("x").Stderr, "403")
	require.Equal(t, "true\n", admin(withSecret, "unblockip", "127.0.0.1").Stdout, "the operator's calls get through")
	require.Equal(t, "true\n", admin(withSecret, "banpubkey", key, "spam").Stdout)
	require.Contains(t, publish("x").Stderr, "blocked:")
}
