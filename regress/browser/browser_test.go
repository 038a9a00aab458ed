package browser_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay"
	"fencepost/relay/client"
	"fencepost/relay/config"
	"fencepost/relay/wire"
)

// chromium returns the browser's path, or skips.
func chromium(t *testing.T) string {
	path := os.Getenv("FENCEPOST_TEST_BROWSER")
	if path == "" {
		t.Skip("FENCEPOST_TEST_BROWSER does not name a Chromium")
	}
	return path
}

// dump returns the page as it stands once its scripts have run.
func dump(t *testing.T, browser, url string) string {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, browser,
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+t.TempDir(), "--timeout=20000", "--dump-dom", url).Output()
	require.NoError(t, err)
	return string(out)
}

// start runs a relay and returns its host and port.
func start(t *testing.T, change func(*config.Config)) string {
	c := config.Default()
	c.Listen, c.Data, c.Relay.Name = "127.0.0.1:0", t.TempDir(), "A <relay> & more"
	if change != nil {
		change(&c)
	}
	r, err := relay.New(t.Context(), relay.Options{Config: c, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return r.Addr().String()
}

func TestPageForPeopleNamesTheRelayAndItsAddress(t *testing.T) {
	browser := chromium(t)
	host := start(t, nil)
	page := dump(t, browser, "http://"+host+"/")
	require.Contains(t, page, "A &lt;relay&gt; &amp; more")
	require.Contains(t, page, "ws://"+host)
}

// subscriber is a page that asks the relay for everything and writes down what
// it is sent. document.title ends what --dump-dom waits for.
const subscriber = `<!doctype html><pre id="log"></pre><script>
const log = document.getElementById("log"), ws = new WebSocket("ws://%s/");
ws.onopen = () => ws.send(JSON.stringify(["REQ", "from a \"page\"", {}]));
ws.onmessage = (m) => { log.textContent += m.data + "\n"; if (JSON.parse(m.data)[0] == "EOSE") fetch("/done"); };
ws.onerror = () => { log.textContent += "fault"; fetch("/done"); };
ws.onclose = (e) => { log.textContent += "closed " + e.code; fetch("/done"); };
</script><img src="/wait">`

func TestAPageOfAnotherOriginSubscribes(t *testing.T) {
	browser := chromium(t)
	for _, compression := range []bool{false, true} {
		t.Run(fmt.Sprintf("compression %t", compression), func(t *testing.T) {
			host := start(t, func(c *config.Config) { c.WebSocket.Compression = compression })
			ev := nostr.Event{Kind: 1, CreatedAt: nostr.Now(), Content: "hello, browser"}
			require.NoError(t, ev.Sign(nostr.GeneratePrivateKey()))
			c, err := client.Dial(t.Context(), "ws://"+host, client.Options{})
			require.NoError(t, err)
			require.NoError(t, c.Publish(t.Context(), wire.NewEvent(ev)))
			require.NoError(t, c.Close())

			page := dump(t, browser, serve(t, fmt.Sprintf(subscriber, host)))
			require.Contains(t, page, "hello, browser")
			require.Contains(t, page, `["EOSE","from a \"page\"",["finish"]]`)
			require.NotContains(t, page, "\nfault")
			require.NotContains(t, page, "closed 1")
		})
	}
}

// serve returns the URL of a page on another origin. The page has an image that
// loads once the page has fetched /done, so that the browser waits for it.
func serve(t *testing.T, page string) string {
	done := make(chan struct{}, 16)
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	})
	mux.HandleFunc("/done", func(http.ResponseWriter, *http.Request) { done <- struct{}{} })
	mux.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-done:
			done <- struct{}{}
		case <-r.Context().Done():
		case <-time.After(15 * time.Second):
		}
		w.WriteHeader(http.StatusNoContent)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}
