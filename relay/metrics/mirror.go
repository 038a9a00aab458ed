package metrics

import "github.com/prometheus/client_golang/prometheus"

// Mirror is what one mirror of this process did.
type Mirror struct {
	URL              string
	Owned, Connected bool
	Events           map[string]uint64 // outcome -> events
	Failures         uint64
}

// mirrors is a collector that asks at each scrape.
type mirrors struct {
	ask                                func() []Mirror
	owned, connected, events, failures *prometheus.Desc
}

// ObserveMirrors shows what ask returns, which must not block. It is called once.
func (m *Metrics) ObserveMirrors(ask func() []Mirror) {
	if m == nil {
		return
	}
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "mirror", name), help, append([]string{"upstream"}, labels...), nil)
	}
	m.registry.MustRegister(&mirrors{
		ask:       ask,
		owned:     describe("owned", "1 while this process owns the mirror."),
		connected: describe("connected", "1 while the mirror is connected here."),
		events:    describe("events_total", "Events of a mirror, by what became of them.", "outcome"),
		failures:  describe("failures_total", "Connections of a mirror that failed or ended."),
	})
}

// Describe implements prometheus.Collector.
func (m *mirrors) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.owned, m.connected, m.events, m.failures} {
		out <- d
	}
}

// Collect implements prometheus.Collector. Several mirrors of one upstream are added up.
func (m *mirrors) Collect(out chan<- prometheus.Metric) {
	sums := make(map[string]*Mirror)
	for _, one := range m.ask() {
		sum := sums[one.URL]
		if sum == nil {
			sum = &Mirror{Events: make(map[string]uint64)}
			sums[one.URL] = sum
		}
		sum.Owned, sum.Connected = sum.Owned || one.Owned, sum.Connected || one.Connected
		sum.Failures += one.Failures
		for outcome, n := range one.Events {
			sum.Events[outcome] += n
		}
	}
	for url, sum := range sums {
		out <- prometheus.MustNewConstMetric(m.owned, prometheus.GaugeValue, oneIf(sum.Owned), url)
		out <- prometheus.MustNewConstMetric(m.connected, prometheus.GaugeValue, oneIf(sum.Connected), url)
		out <- prometheus.MustNewConstMetric(m.failures, prometheus.CounterValue, float64(sum.Failures), url)
		for outcome, n := range sum.Events {
			out <- prometheus.MustNewConstMetric(m.events, prometheus.CounterValue, float64(n), url, outcome)
		}
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
