package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"fencepost/relay/metrics"
)

// scrape returns the lines of the relay's own metrics.
func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	return w.Body.String()
}

func TestWhatIsCountedIsShown(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	m.ConnOpened()
	m.ConnOpened()
	m.ConnClosed("client")
	m.ConnRefused("full")
	m.BytesIn(10)
	m.FramesOut(3, 500)
	m.Message("REQ")
	m.EventOutcome("stored")
	m.EventOutcome("pow")
	m.SubscriptionEnded("slow")
	m.FrameDropped("stale")
	m.Query(2*time.Millisecond, 7)
	m.Commit(100, time.Millisecond)
	m.Position(12, 10)
	m.Panic()
	m.Observe(metrics.Observed{
		Subscriptions: func() int { return 5 },
		OutboundBytes: func() int { return 4096 },
		Negotiated:    func() int { return 77 },
		Head:          func() uint64 { return 15 },
		Lag:           func() time.Duration { return 1500 * time.Millisecond },
		Listening:     func() bool { return false },
		Losses:        func() uint64 { return 6 },
		Refusing:      func() bool { return true },
	})
	got := scrape(t, m)
	for _, line := range []string{
		`fencepost_connections 1`,
		`fencepost_connections_opened_total 2`,
		`fencepost_connections_closed_total{reason="client"} 1`,
		`fencepost_connections_refused_total{reason="full"} 1`,
		`fencepost_received_bytes_total 10`,
		`fencepost_sent_frames_total 3`,
		`fencepost_sent_bytes_total 500`,
		`fencepost_messages_total{verb="REQ"} 1`,
		`fencepost_messages_total{verb="EVENT"} 0`,
		`fencepost_events_total{outcome="stored"} 1`,
		`fencepost_events_total{outcome="pow"} 1`,
		`fencepost_subscriptions_ended_total{reason="slow"} 1`,
		`fencepost_frames_dropped_total{why="stale"} 1`,
		`fencepost_query_seconds_count 1`,
		`fencepost_query_events_sum 7`,
		`fencepost_commit_events_sum 100`,
		`fencepost_commit_seconds_count 1`,
		`fencepost_follower_begun_position 12`,
		`fencepost_follower_applied_position 10`,
		`fencepost_follower_lag_positions 5`,
		`fencepost_follower_lag_seconds 1.5`,
		`fencepost_log_head_position 15`,
		`fencepost_listener_connected 0`,
		`fencepost_listener_losses_total 6`,
		`fencepost_damaged_events_total 0`,
		`fencepost_writes_refused 1`,
		`fencepost_subscriptions 5`,
		`fencepost_negotiated_events 77`,
		`fencepost_outbound_queue_bytes 4096`,
		`fencepost_panics_total 1`,
	} {
		require.Contains(t, got, "\n"+line+"\n")
	}
	require.Contains(t, got, "\ngo_goroutines ")
	problems, err := promlint.New(strings.NewReader(got)).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestGaugesWorkBeforeAnythingIsObserved(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	m.Position(5, 3)
	for _, o := range []*metrics.Observed{nil, {}} {
		if o != nil {
			m.Observe(*o)
		}
		got := scrape(t, m)
		require.Contains(t, got, "\nfencepost_subscriptions 0\n")
		require.Contains(t, got, "\nfencepost_outbound_queue_bytes 0\n")
		require.Contains(t, got, "\nfencepost_writes_refused 0\n")
		require.Contains(t, got, "\nfencepost_follower_lag_positions 2\n")
	}
}

func TestLabelsStayFewWhateverCallersPass(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	for i := range 1000 {
		m.ConnClosed(fmt.Sprintf("reason %d", i))
	}
	for _, odd := range []string{"", "\xff", strings.Repeat("x", 100)} {
		m.SubscriptionEnded(odd)
	}
	got := scrape(t, m)
	require.Equal(t, 25, strings.Count(got, "\nfencepost_connections_closed_total{"))
	require.Contains(t, got, "\nfencepost_connections_closed_total{reason=\"other\"} 976\n")
	require.Contains(t, got, "\nfencepost_subscriptions_ended_total{reason=\"other\"} 3\n")
}

func TestConcurrentCountsAreExact(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 1000 {
				m.ConnOpened()
				m.ConnClosed([]string{"a", "b", "c"}[(i+j)%3])
				m.FramesOut(1, 2)
			}
		})
	}
	all.Wait()
	got := scrape(t, m)
	require.Contains(t, got, "\nfencepost_connections 0\n")
	require.Contains(t, got, "\nfencepost_connections_opened_total 4000\n")
	require.Contains(t, got, "\nfencepost_sent_bytes_total 8000\n")
	sum := 0
	for _, label := range []string{"a", "b", "c"} {
		var n int
		_, after, ok := strings.Cut(got, "\nfencepost_connections_closed_total{reason=\""+label+"\"} ")
		require.True(t, ok)
		_, err := fmt.Sscan(after, &n)
		require.NoError(t, err)
		sum += n
	}
	require.Equal(t, 4000, sum)
}

func TestNilMetricsCountNothing(t *testing.T) {
	t.Parallel()
	var m *metrics.Metrics
	m.ConnOpened()
	m.ConnClosed("x")
	m.ConnRefused("x")
	m.Panic()
	m.BytesIn(1)
	m.FramesOut(1, 1)
	m.Message("x")
	m.EventOutcome("x")
	m.SubscriptionEnded("x")
	m.FrameDropped("x")
	m.Query(1, 1)
	m.Commit(1, 1)
	m.Position(1, 1)
	m.Observe(metrics.Observed{})
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusNotFound, w.Code)
}

func BenchmarkMessage(b *testing.B) {
	m := metrics.New()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Message("EVENT")
		}
	})
}

func BenchmarkFramesOut(b *testing.B) {
	m := metrics.New()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.FramesOut(16, 8000)
		}
	})
}
