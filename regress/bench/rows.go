package bench

import (
	"fmt"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// row is one kind of work.
type row struct {
	name   string
	title  string // what is done, in its usual size
	stored bool   // it is about the stored events
	once   bool   // a second round would find what the first left
	sets   func(o *Options, round int) []set
	run    func(r *run, s *stage, round int) ([]Figure, error)
}

// Rows that need something special: a process id, and a relay whose data are on tmpfs.
const (
	rowIdle  = "idle"
	rowTmpfs = "delivered-tmpfs"
)

// rows are in the order in which they run: memory first, on a relay that has done
// nothing yet, and queries behind what they are about.
var rows = []row{
	{name: rowIdle, title: "3,000 idle connections with one subscription: resident memory each", once: true, run: idle},
	{name: "ingest", title: "8 connections, window 64, 20,000 events of 350 bytes", sets: of(ingestSet), run: ingest},
	{name: "alone", title: "one connection, window 1", sets: of(aloneSet), run: alone},
	{name: "all", title: "200 subscribers match every event, window 400", sets: of(allSet), run: toAll},
	{name: "few", title: "5,000 diverse subscriptions on 250 connections, about 39 match, window 400", sets: of(fewSet), run: toFew},
	{name: "delivered", title: "publish -> delivered, 50 subscribers, window 1", sets: of(lowSet), run: delivered},
	{name: rowTmpfs, title: "publish -> delivered, 50 subscribers, window 1, data on tmpfs", sets: of(lowSet), run: delivered},
	{name: "authors", title: "REQ 10 authors, kind 1, limit 100", stored: true, run: asking(askAuthors)},
	{name: "mentions", title: "REQ #p, limit 100: about 21 events", stored: true, run: asking(askMentions)},
	{name: "kind", title: "REQ kind 1, limit 500", stored: true, run: asking(askKind)},
	{name: "id", title: "REQ one id", stored: true, run: asking(askID)},
	{name: "ids", title: "REQ 20 ids", stored: true, run: asking(askIDs)},
	{name: "churn", title: "REQ -> EOSE while 40 connections churn and 4 publish", stored: true, sets: of(churnSet), run: churn},
}

func (w row) rounds(o *Options) int {
	if w.once {
		return 1
	}
	return o.Rounds
}

// RowNames returns the names of all rows, in their order.
func RowNames() (names []string) {
	for _, r := range rows {
		names = append(names, r.name)
	}
	return names
}

func of(f func(o *Options, round int) set) func(o *Options, round int) []set {
	return func(o *Options, round int) []set { return []set{f(o, round)} }
}

func ingestSet(o *Options, round int) set { return plain(numbered("ingest", round), o.sizes.ingest) }
func aloneSet(o *Options, round int) set  { return plain(numbered("alone", round), o.sizes.alone) }
func allSet(o *Options, round int) set    { return marked(numbered("all", round), o.sizes.toAll) }
func lowSet(o *Options, round int) set    { return marked(numbered("low", round), o.sizes.low) }
func storedSet(o *Options) set            { return stored("stored", o.sizes.stored) }

func fewSet(o *Options, round int) set {
	return varied(numbered(fmt.Sprintf("few-%d", o.sizes.diverse), round), o.sizes.toFew, o.sizes.diverse)
}

func churnSet(o *Options, round int) set {
	each := int(o.sizes.churning/o.sizes.churnPace) + 1
	return plain(numbered("churn", round), each*o.sizes.churnPublishers)
}

func numbered(name string, round int) string { return fmt.Sprintf("%s-%d", name, round) }

func ingest(r *run, s *stage, round int) ([]Figure, error) {
	events, err := r.events(ingestSet(s.options, round))
	if err != nil {
		return nil, err
	}
	o, err := s.pump(traffic{events: events, publishers: s.options.sizes.connections, window: s.options.sizes.window})
	return o.rates("events", o.events), err
}

func alone(r *run, s *stage, round int) ([]Figure, error) {
	events, err := r.events(aloneSet(s.options, round))
	if err != nil {
		return nil, err
	}
	o, err := s.pump(traffic{events: events, publishers: 1, window: 1, durations: true})
	return append(quantiles("OK", &o.ok), o.rates("events", o.events)...), err
}

func toAll(r *run, s *stage, round int) ([]Figure, error) {
	sizes := s.options.sizes
	o, err := r.fanout(s, allSet(s.options, round), sizes.subscribers, sizes.fanoutWindow, false)
	return o.rates("frames", o.frames), err
}

func delivered(r *run, s *stage, round int) ([]Figure, error) {
	o, err := r.fanout(s, lowSet(s.options, round), s.options.sizes.lowSubscribers, 1, true)
	return append(quantiles("delivered", &o.delivered), append(quantiles("OK", &o.ok), o.rates("frames", o.frames)...)...), err
}

// fanout publishes marked events to subscribers of their mark.
func (r *run) fanout(s *stage, of set, subscribers, window int, durations bool) (outcome, error) {
	events, err := r.events(of)
	if err != nil {
		return outcome{}, err
	}
	filter := wire.NewFilter(nostr.Filter{
		Kinds: []int{1}, Tags: nostr.TagMap{"t": {mark(s.options.Seed, of.name)}}, Limit: 1,
	})
	return s.pump(traffic{
		events: events, publishers: 1, window: window, connections: subscribers, each: 1, everything: true,
		filter: func(int) *wire.Filter { return filter }, durations: durations,
	})
}

func toFew(r *run, s *stage, round int) ([]Figure, error) {
	sizes := s.options.sizes
	events, err := r.events(fewSet(s.options, round))
	if err != nil {
		return nil, err
	}
	o, err := s.pump(traffic{
		events: events, publishers: 1, window: sizes.fanoutWindow,
		connections: sizes.diverseConnections, each: sizes.diverse / sizes.diverseConnections,
		filter: func(i int) *wire.Filter {
			// The first connections do not get all the subscriptions that take everything.
			at := i%sizes.diverseConnections*(sizes.diverse/sizes.diverseConnections) + i/sizes.diverseConnections
			return wire.NewFilter(diverse(s.options.Seed, at, sizes.diverse, r.publicKey))
		},
	})
	if err != nil {
		return nil, err
	}
	return append(o.rates("frames", o.frames), Figure{Name: "frames an event", Value: float64(o.frames) / float64(o.events)}), nil
}

// rates returns how often something was done in a second of the relay's CPU, and
// of the clock.
func (u usage) rates(what string, n int) (out []Figure) {
	if u.cpu > 0 {
		out = append(out,
			Figure{Name: what + " per CPU-s", Value: float64(n) / u.cpu.Seconds()},
			Figure{Name: generator, Value: u.own.Seconds() / u.cpu.Seconds()})
	}
	if u.wall > 0 {
		out = append(out, Figure{Name: what + " per s", Value: float64(n) / u.wall.Seconds()})
	}
	return out
}

// generator is the figure that says what the generator itself costs.
const generator = "generator's CPU per CPU of the relay"

// quantiles returns the median and the 99th percentile.
func quantiles(what string, h *Histogram) []Figure {
	return []Figure{{Name: what + " p50 ms", Value: milliseconds(h.Quantile(0.5))}, {Name: what + " p99 ms", Value: milliseconds(h.Quantile(0.99))}}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
