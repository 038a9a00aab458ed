package metrics

import "github.com/prometheus/client_golang/prometheus"

const namespace = "fencepost"

// prefixes are the reasons that a client may read (NIP-01, NIP-42).
var prefixes = []string{
	"duplicate", "pow", "blocked", "rate-limited", "invalid",
	"restricted", "unsupported", "auth-required", "error", "info",
}

func (m *Metrics) declareConnections() {
	m.gauge("connections", "Open WebSocket connections.",
		func() float64 { return float64(m.connections.Load()) })
	m.opened = m.counter("connections_opened_total", "WebSocket connections that were accepted.")
	m.closed = m.family("connections_closed_total", "WebSocket connections that ended, by reason.", "reason")
	m.refused = m.family("connections_refused_total", "WebSocket connections that were not accepted, by reason.", "reason")
	m.panics = m.counter("panics_total", "Panics, each a bug that ended one connection or request.")
	m.gauge("outbound_queue_bytes", "Bytes that wait in the outbound queues of all connections.",
		m.observe(func(o *Observed) func() int { return o.OutboundBytes }))
	m.gauge("subscriptions", "Current subscriptions of all connections.",
		m.observe(func(o *Observed) func() int { return o.Subscriptions }))
	m.gauge("negotiated_events", "Events that open negotiations are about (NIP-77), about 72 bytes each.",
		m.observe(func(o *Observed) func() int { return o.Negotiated }))
	m.ended = m.family("subscriptions_ended_total", "Subscriptions that the relay ended, by reason.", "reason",
		append([]string{"slow", "resync"}, prefixes...)...)
}

func (m *Metrics) declareTraffic() {
	m.messages = m.family("messages_total", "Messages from clients, by verb.", "verb",
		"EVENT", "REQ", "CHANGES", "CLOSE", "COUNT", "AUTH", "invalid")
	m.events = m.family("events_total", "EVENT messages that were answered, by outcome.", "outcome",
		append([]string{"stored"}, prefixes...)...)
	m.bytesIn = m.counter("received_bytes_total", "Payload bytes of messages from clients.")
	m.bytesOut = m.counter("sent_bytes_total", "Payload bytes of frames to clients.")
	m.framesOut = m.counter("sent_frames_total", "Frames written to clients.")
	m.dropped = m.family("frames_dropped_total", "Frames that were not queued, by why.", "why", "stale", "notice")
}

func (m *Metrics) declareStore() {
	m.querySeconds = m.histogram("query_seconds", "Time of a stored query, waiting for the client included, in seconds.",
		prometheus.ExponentialBuckets(0.0001, 4, 10)) // 0.1 ms to 26 s
	m.queryEvents = m.histogram("query_events", "Stored events that a query sent.",
		[]float64{0, 1, 10, 100, 500, 1000, 5000, 10000})
	m.commitSeconds = m.histogram("commit_seconds", "Seconds until what a connection published together was durable.",
		prometheus.ExponentialBuckets(0.0001, 3, 10)) // 0.1 ms to 2 s
	m.commitEvents = m.histogram("commit_events", "Events that a connection published together.",
		prometheus.ExponentialBuckets(1, 2, 11)) // 1 to 1024
	m.gauge("follower_begun_position", "Log position that the fan-out has begun.",
		func() float64 { return float64(m.begun.Load()) })
	m.gauge("follower_applied_position", "Log position up to which the fan-out is done.",
		func() float64 { return float64(m.applied.Load()) })
	m.gauge("follower_lag_positions", "Log positions that are committed and not fanned out yet.", m.behind)
	m.gauge("follower_lag_seconds", "Seconds since the log was last read to its end.", m.lag)
	m.gauge("log_head_position", "Newest log position that is known.", func() float64 { return float64(m.head()) })
	m.gauge("listener_connected", "Whether commits of other replicas are heard of at once; 1 where there are none.", m.listening)
	m.gauge("writes_refused", "Whether the last commit failed, and not because of what it was about: full disk, read-only or absent database.", m.refusing)
	m.letters = m.family("dead_letters_total", "Rows of the log that this replica has given up to deliver, by the class of the error.", "class",
		"damaged", "newer", "panic", "crowded", "other")
	m.gauge("deferred_rows", "Rows of the log that wait for another attempt to deliver them, or behind such a row.",
		m.observe(func(o *Observed) func() int { return o.Deferred }))
	m.counted("listener_losses_total", "Times that the connection was lost by which commits of other replicas are heard of.",
		func(o *Observed) func() uint64 { return o.Losses })
	m.counted("damaged_events_total", "Times that a stored event which cannot be read was left out of an answer, or removed unread.",
		func(o *Observed) func() uint64 { return o.Damaged })
}

// behind reads applied first: the head never lies behind it then.
func (m *Metrics) behind() float64 {
	applied := m.applied.Load()
	return float64(max(m.head(), applied) - applied)
}

func (m *Metrics) head() uint64 {
	begun := m.begun.Load()
	if o := m.observed.Load(); o != nil && o.Head != nil {
		return max(begun, o.Head())
	}
	return begun
}

func (m *Metrics) lag() float64 {
	if o := m.observed.Load(); o != nil && o.Lag != nil {
		return o.Lag().Seconds()
	}
	return 0
}

func (m *Metrics) listening() float64 {
	if o := m.observed.Load(); o != nil && o.Listening != nil && !o.Listening() {
		return 0
	}
	return 1
}

func (m *Metrics) refusing() float64 {
	if o := m.observed.Load(); o != nil && o.Refusing != nil && o.Refusing() {
		return 1
	}
	return 0
}

func (m *Metrics) observe(pick func(*Observed) func() int) func() float64 {
	return func() float64 {
		o := m.observed.Load()
		if o == nil {
			return 0
		}
		f := pick(o)
		if f == nil {
			return 0
		}
		return float64(f())
	}
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

// counted declares a counter that is kept elsewhere.
func (m *Metrics) counted(name, help string, pick func(*Observed) func() uint64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(
		prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, func() float64 {
			if o := m.observed.Load(); o != nil {
				if f := pick(o); f != nil {
					return float64(f())
				}
			}
			return 0
		}))
}

func (m *Metrics) gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, value))
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: buckets,
	})
	m.registry.MustRegister(h)
	return h
}

func (m *Metrics) family(name, help, label string, known ...string) *family {
	f := newFamily(prometheus.NewCounterVec(
		prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{label}), known)
	m.registry.MustRegister(f.vec)
	return f
}
