package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"fencepost/relay/client"
	"fencepost/relay/wire"
)

const testKey = "0000000000000000000000000000000000000000000000000000000000000003"

// peer is the relay's end of the connection.
type peer struct {
	t    *testing.T
	conn *websocket.Conn
}

func (p peer) send(message string) {
	require.NoError(p.t, p.conn.Write(p.t.Context(), websocket.MessageText, []byte(message)))
}

func (p peer) receive() wire.Message {
	_, data, err := p.conn.Read(p.t.Context())
	require.NoError(p.t, err)
	m, err := wire.Decode(data)
	require.NoError(p.t, err)
	return m
}

// connect returns both ends of one connection.
func connect(t *testing.T, o client.Options) (*client.Client, peer) {
	t.Helper()
	peers := make(chan peer, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err == nil {
			peers <- peer{t: t, conn: conn}
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), o)
	require.NoError(t, err)
	p := <-peers
	t.Cleanup(func() { _ = p.conn.CloseNow() }) // most tests have closed it already
	return c, p
}

func signed(t *testing.T, content string) *wire.Event {
	t.Helper()
	e := nostr.Event{Kind: 1, CreatedAt: 1_700_000_000, Content: content}
	require.NoError(t, e.Sign(testKey))
	return wire.NewEvent(e)
}

// hangUp ends the connection from the relay's side and the client after it.
func hangUp(t *testing.T, c *client.Client, p peer) {
	t.Helper()
	require.NoError(t, p.conn.CloseNow())
	require.NoError(t, c.Close())
}

func TestNextGivesMessagesInOrder(t *testing.T) {
	t.Parallel()
	c, p := connect(t, client.Options{})
	p.send(`["NOTICE","first"]`)
	p.send(`["EOSE","a",["more"]]`)
	m, err := c.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, "first", m.Text)
	m, err = c.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"more"}, m.Hints)
	hangUp(t, c, p)
}

func TestMessageThatCannotBeDecodedLeavesTheConnectionAlive(t *testing.T) {
	t.Parallel()
	c, p := connect(t, client.Options{})
	p.send(`["EOSE"`)
	require.NoError(t, p.conn.Write(t.Context(), websocket.MessageBinary, []byte(`["NOTICE",""]`)))
	p.send(`["EOSE","b"]`)
	var bad *wire.Error
	for range 2 {
		_, err := c.Next(t.Context())
		require.ErrorAs(t, err, &bad)
	}
	m, err := c.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, "b", m.Sub)
	hangUp(t, c, p)
}

func TestNextOutlivesItsContext(t *testing.T) {
	t.Parallel()
	c, p := connect(t, client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Next(ctx)
	require.ErrorIs(t, err, context.Canceled)
	p.send(`["NOTICE","still here"]`)
	m, err := c.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, "still here", m.Text)
	hangUp(t, c, p)
}

func TestOverlongMessageEndsTheConnection(t *testing.T) {
	t.Parallel()
	c, p := connect(t, client.Options{MaxMessage: 100})
	p.send(`["NOTICE","` + strings.Repeat("x", 200) + `"]`)
	_, err := c.Next(t.Context())
	require.Error(t, err)
	require.NotErrorIs(t, err, client.ErrClosed)
	hangUp(t, c, p)
}

func TestPublishWaitsForItsOwnOK(t *testing.T) {
	t.Parallel()
	c, p := connect(t, client.Options{})
	good, bad := signed(t, "good"), signed(t, "bad")
	results := make(chan error, 2)
	go func() { results <- c.Publish(t.Context(), good) }()
	require.Equal(t, good.ID, p.receive().(*wire.EventMessage).Event.ID)
	p.send(string(wire.AppendOK(nil, bad.ID, false, wire.Because(wire.Blocked, "nobody waits"))))
	p.send(string(wire.AppendOK(nil, good.ID, true, wire.Reason{})))
	require.NoError(t, <-results)
	m, err := c.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, bad.ID, m.ID, "an OK that nobody waits for goes to Next")

	go func() { results <- c.Publish(t.Context(), bad) }()
	p.receive()
	p.send(string(wire.AppendOK(nil, bad.ID, false, wire.Because(wire.Blocked, "go away"))))
	var refusal *client.Refusal
	require.ErrorAs(t, <-results, &refusal)
	require.Equal(t, "blocked: go away", refusal.Text)
	hangUp(t, c, p)
}

func TestPublishOfOneEventTwiceNeedsTwoAnswers(t *testing.T) {
	t.Parallel()
	c, p := connect(t, client.Options{})
	e := signed(t, "twice")
	results := make(chan error, 2)
	for range 2 {
		go func() { results <- c.Publish(t.Context(), e) }()
		p.receive()
	}
	p.send(string(wire.AppendOK(nil, e.ID, true, wire.Reason{})))
	p.send(string(wire.AppendOK(nil, e.ID, false, wire.Because(wire.Failed, "second"))))
	first, second := <-results, <-results
	require.True(t, (first == nil) != (second == nil))
	hangUp(t, c, p)
}

func TestPublishEndsWithTheConnection(t *testing.T) {
	t.Parallel()
	c, p := connect(t, client.Options{})
	result := make(chan error, 1)
	go func() { result <- c.Publish(t.Context(), signed(t, "lost")) }()
	p.receive()
	closed := make(chan error, 1)
	go func() { closed <- p.conn.Close(websocket.StatusGoingAway, "drain") }()
	require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(<-result))
	<-closed
	require.Error(t, c.Publish(t.Context(), signed(t, "later")))
	require.NoError(t, c.Close())
}

func TestAuthenticateAnswersTheLastChallenge(t *testing.T) {
	t.Parallel()
	c, p := connect(t, client.Options{})
	require.Error(t, c.Authenticate(t.Context(), testKey), "no challenge yet")
	p.send(`["AUTH","old"]`)
	p.send(`["AUTH","new"]`)
	for range 2 {
		_, err := c.Next(t.Context())
		require.NoError(t, err)
	}
	result := make(chan error, 1)
	go func() { result <- c.Authenticate(t.Context(), testKey) }()
	e := p.receive().(*wire.AuthMessage).Event
	require.NoError(t, e.Verify())
	challenge, _ := e.Tag("challenge")
	require.Equal(t, "new", challenge)
	p.send(string(wire.AppendOK(nil, e.ID, true, wire.Reason{})))
	require.NoError(t, <-result)
	hangUp(t, c, p)
}

func TestCloseEndsAReaderWhoseBufferIsFull(t *testing.T) {
	ignored := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		goleak.VerifyNone(t, ignored)
	})
	c, p := connect(t, client.Options{Buffer: 1})
	p.send(`["NOTICE","1"]`)
	p.send(`["NOTICE","2"]`)
	p.send(`["NOTICE","3"]`)
	reading := p.conn.CloseRead(t.Context())
	require.NoError(t, c.Close())
	require.NoError(t, c.Close(), "a second Close does nothing")
	<-reading.Done()
	for {
		_, err := c.Next(t.Context())
		if errors.Is(err, client.ErrClosed) {
			break
		}
		require.NoError(t, err)
	}
}

func TestDialGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	_, err := client.Dial(ctx, "ws"+strings.TrimPrefix(server.URL, "http"), client.Options{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
