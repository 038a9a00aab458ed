package relay_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/relay"
	"fencepost/relay/client"
	"fencepost/relay/config"
	"fencepost/relay/wire"
)

// running is a relay that serves until stop is called.
type running struct {
	*relay.Relay
	url  string
	stop func() error
}

func options(dir string) relay.Options {
	c := config.Default()
	c.Listen, c.Data = "127.0.0.1:0", dir
	return relay.Options{Config: c, Logger: slog.New(slog.DiscardHandler)}
}

func start(t *testing.T, dir string, change ...func(*config.Config)) *running {
	o := options(dir)
	for _, f := range change {
		f(&o.Config)
	}
	require.NoError(t, o.Config.Validate())
	r, err := relay.New(t.Context(), o)
	require.NoError(t, err)
	return run(t, r)
}

func run(t *testing.T, r *relay.Relay) *running {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stopped := false
	stop := func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	t.Cleanup(func() { require.NoError(t, stop()) })
	return &running{Relay: r, url: r.Addr().String(), stop: stop}
}

func (r *running) dial(t *testing.T) *client.Client {
	c, err := client.Dial(t.Context(), "ws://"+r.url, client.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() }) // the relay may have closed it first
	return c
}

func send(t *testing.T, c *client.Client, msg string) {
	require.NoError(t, c.Send(t.Context(), []byte(msg)))
}

// next returns the next message that is not AUTH.
func next(t *testing.T, c *client.Client) wire.RelayMessage {
	for {
		m, err := c.Next(t.Context())
		require.NoError(t, err)
		if m.Verb != "AUTH" {
			return m
		}
	}
}

func note(t testing.TB, content string) *wire.Event {
	ev := nostr.Event{Kind: 1, CreatedAt: nostr.Now(), Content: content}
	require.NoError(t, ev.Sign(nostr.GeneratePrivateKey()))
	return wire.NewEvent(ev)
}

func TestEventsAreStoredServedLiveAndSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, dir)
	reader, writer := r.dial(t), r.dial(t)
	send(t, reader, `["REQ","all",{}]`)
	require.Equal(t, "EOSE", next(t, reader).Verb)

	ev := note(t, "hello")
	require.NoError(t, writer.Publish(t.Context(), ev))
	got := next(t, reader)
	require.Equal(t, "all", got.Sub)
	require.Equal(t, string(ev.Raw()), string(got.Event.Raw()))
	require.Equal(t, 1, r.metric(t, "fencepost_commit_events_count"))
	require.NoError(t, r.stop())

	second := start(t, dir)
	require.Equal(t, 1, second.metric(t, "fencepost_follower_applied_position"))
	require.Zero(t, second.metric(t, "fencepost_follower_lag_positions"))
	again := second.dial(t)
	send(t, again, `["REQ","x",{"ids":["`+ev.ID+`"]}]`)
	require.Equal(t, ev.ID, next(t, again).Event.ID)
	require.Equal(t, []string{"finish"}, next(t, again).Hints)
}

func TestDrainClosesSubscriptionsAndThenConnections(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	c := r.dial(t)
	send(t, c, `["REQ","x",{"kinds":[1]}]`)
	require.Equal(t, "EOSE", next(t, c).Verb)
	require.NoError(t, r.stop())

	closed := next(t, c)
	require.Equal(t, "CLOSED", closed.Verb)
	require.Equal(t, "error: the relay is shutting down", closed.Text)
	_, err := c.Next(t.Context())
	require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err))
	_, err = client.Dial(t.Context(), "ws://"+r.url, client.Options{})
	require.Error(t, err)
}

func TestReloadChangesLimitsAndTheInformationDocument(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, dir)
	c := r.dial(t)
	reloaded := options(dir).Config
	reloaded.Subscriptions.MaxFilters = 1
	reloaded.Store.Cache += config.MiB
	changed, restart := r.Reload(reloaded)
	require.Equal(t, []string{"subscriptions.max_filters"}, changed)
	require.Equal(t, []string{"store.cache"}, restart)
	changed, restart = r.Reload(reloaded)
	require.Empty(t, changed)
	require.Equal(t, []string{"store.cache"}, restart, "it still waits for its restart")
	reloaded.Store.Cache -= config.MiB
	_, restart = r.Reload(reloaded)
	require.Empty(t, restart, "back to what runs")
	send(t, c, `["REQ","x",{"kinds":[1]},{"kinds":[2]}]`)
	require.Equal(t, "invalid: more than 1 filters", next(t, c).Text)
}

// metric reads one gauge from /metrics.
func (r *running) metric(t *testing.T, name string) int {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.url+"/metrics", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			n, err := strconv.ParseFloat(v, 64)
			require.NoError(t, err)
			return int(n)
		}
	}
	require.Fail(t, "no metric "+name)
	return 0
}

// Not parallel: it counts the goroutines of the process.
func TestThousandConnectionsLeaveNothingBehind(t *testing.T) {
	const connections, subscriptions = 1000, 10
	r := start(t, t.TempDir(), func(c *config.Config) { c.Network.MaxConnectionsPerAddress = 0 })
	r.metric(t, "fencepost_connections") // the metrics connection is part of the baseline
	before := runtime.NumGoroutine()

	clients := make([]*client.Client, connections)
	var g errgroup.Group
	g.SetLimit(32)
	for i := range clients {
		g.Go(func() error { return subscribe(t.Context(), &clients[i], "ws://"+r.url, subscriptions) })
	}
	require.NoError(t, g.Wait())
	require.Equal(t, connections, r.metric(t, "fencepost_connections"))
	require.Equal(t, connections*subscriptions, r.metric(t, "fencepost_subscriptions"))

	for _, c := range clients {
		g.Go(c.Close)
	}
	require.NoError(t, g.Wait())
	// Not Eventually: it runs its condition in a goroutine of its own.
	deadline, tick := time.After(time.Minute), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for r.metric(t, "fencepost_connections") != 0 || r.metric(t, "fencepost_subscriptions") != 0 || runtime.NumGoroutine() > before {
		select {
		case <-tick.C:
		case <-deadline:
			require.Fail(t, "something is left", "%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
	require.Zero(t, r.metric(t, "fencepost_outbound_queue_bytes"))
}

func subscribe(ctx context.Context, out **client.Client, url string, n int) error {
	c, err := client.Dial(ctx, url, client.Options{})
	if err != nil {
		return err
	}
	*out = c
	for i := range n {
		if err := c.Send(ctx, fmt.Appendf(nil, `["REQ","sub%d",{"kinds":[%d]}]`, i, 100+i)); err != nil {
			return err
		}
	}
	for eose := 0; eose < n; {
		m, err := c.Next(ctx)
		if err != nil {
			return err
		}
		switch m.Verb {
		case "EOSE":
			eose++
		case "AUTH":
		default:
			return errors.New("unexpected " + m.Verb)
		}
	}
	return nil
}
