// Package metrics counts what the relay does and shows it to Prometheus. Every
// metric is declared here, with its unit and meaning, in a registry of its own;
// there is no global state.
//
// Users declare the small interface they need, and *Metrics satisfies it. Its
// methods may be called from any goroutine, also under a lock: they are a few
// atomic operations, never block and never fail. All of them work on a nil
// *Metrics, which counts nothing.
//
// Labels have few values. A label holds a reason, an outcome or a verb, never a
// key, an address or an id, and after maxLabels different ones a metric counts
// the rest under "other".
//
// Observe hands in what is asked at each scrape instead of counted: gauges that
// others know anyway.
package metrics
