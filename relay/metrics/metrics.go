package metrics

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is what the relay counts. Make one with New; nil counts nothing.
type Metrics struct {
	// Set at construction, never changed.
	registry *prometheus.Registry

	opened   prometheus.Counter
	closed   *family
	refused  *family
	panics   prometheus.Counter
	messages *family
	events   *family
	ended    *family
	dropped  *family
	letters  *family

	bytesIn, bytesOut, framesOut prometheus.Counter

	querySeconds, queryEvents   prometheus.Histogram
	commitSeconds, commitEvents prometheus.Histogram

	// Changed by atomic operations, read at each scrape.
	connections    atomic.Int64
	begun, applied atomic.Uint64
	observed       atomic.Pointer[Observed]
}

// Observed is what is asked at each scrape. Each function may be nil; none may
// block for long.
type Observed struct {
	Subscriptions func() int    // current subscriptions of all connections
	OutboundBytes func() int    // bytes in the outbound queues of all connections
	Negotiated    func() int    // events that open negotiations are about
	Head          func() uint64 // position of the newest log row; 0 when it is not known

	Lag       func() time.Duration // since when nothing is known of the log
	Listening func() bool          // whether commits of other replicas are heard of at once
	Losses    func() uint64        // how often that ended; it never falls
	Deferred  func() int           // rows of the log that are not delivered yet
	Damaged   func() uint64        // how often a stored event was left out that cannot be read; it never falls
	Refusing  func() bool          // whether nothing can be written
}

// New returns metrics that are all zero.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.declareConnections()
	m.declareTraffic()
	m.declareStore()
	return m
}

// Observe sets what is asked at each scrape, instead of what was set before.
func (m *Metrics) Observe(o Observed) {
	if m != nil {
		m.observed.Store(&o)
	}
}

// Handler serves the metrics in the text format of Prometheus.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// ConnOpened counts a connection that was accepted.
func (m *Metrics) ConnOpened() {
	if m != nil {
		m.opened.Inc()
		m.connections.Add(1)
	}
}

// ConnClosed counts the end of a connection that was counted by ConnOpened.
func (m *Metrics) ConnClosed(reason string) {
	if m != nil {
		m.closed.inc(reason)
		m.connections.Add(-1)
	}
}

// ConnRefused counts a connection that was not accepted.
func (m *Metrics) ConnRefused(reason string) {
	if m != nil {
		m.refused.inc(reason)
	}
}

// Panic counts a panic that ended a connection or a request.
func (m *Metrics) Panic() {
	if m != nil {
		m.panics.Inc()
	}
}

// BytesIn counts the payload of messages that were read; n is not negative.
func (m *Metrics) BytesIn(n int) {
	if m != nil {
		m.bytesIn.Add(float64(n))
	}
}

// FramesOut counts a batch that was written; neither number is negative.
func (m *Metrics) FramesOut(frames, bytes int) {
	if m != nil {
		m.framesOut.Add(float64(frames))
		m.bytesOut.Add(float64(bytes))
	}
}

// Message counts a message from a client by its verb, "invalid" for one that
// could not be read.
func (m *Metrics) Message(verb string) {
	if m != nil {
		m.messages.inc(verb)
	}
}

// EventOutcome counts an answered EVENT: "stored", "duplicate", or the prefix of
// the refusal.
func (m *Metrics) EventOutcome(outcome string) {
	if m != nil {
		m.events.inc(outcome)
	}
}

// SubscriptionEnded counts a subscription that the relay ended: "slow", or the
// prefix of the refusal.
func (m *Metrics) SubscriptionEnded(reason string) {
	if m != nil {
		m.ended.inc(reason)
	}
}

// FrameDropped counts a frame that was not queued: "stale" for a generation that
// was over at delivery, "notice" for one without room.
func (m *Metrics) FrameDropped(why string) {
	if m != nil {
		m.dropped.inc(why)
	}
}

// Query counts a stored query, its time and how many events it sent.
func (m *Metrics) Query(d time.Duration, events int) {
	if m != nil {
		m.querySeconds.Observe(d.Seconds())
		m.queryEvents.Observe(float64(events))
	}
}

// Commit counts so many events that one connection handed over together and that
// were decided, and durable, after d.
func (m *Metrics) Commit(events int, d time.Duration) {
	if m != nil {
		m.commitSeconds.Observe(d.Seconds())
		m.commitEvents.Observe(float64(events))
	}
}

// DeadLetter counts a row of the log that this replica has given up to deliver, by the
// class of its error.
func (m *Metrics) DeadLetter(class string) {
	if m != nil {
		m.letters.inc(class)
	}
}

// Position sets how far the follower has begun and applied the log.
func (m *Metrics) Position(begun, applied uint64) {
	if m != nil {
		m.begun.Store(begun)
		m.applied.Store(applied)
	}
}
