package embedded

import "context"

// Costs relative to stepping over one index entry that is in memory.
const (
	costSeek  = 40.0
	costEvent = 10.0 // read or decode an event to look at it
)

// A plan is judged by the newest entries of a few of its streams.
const (
	sampleStreams = 6
	sampleEntries = 16
)

// sample is what was seen of one stream.
type sample struct {
	entries  float64
	ended    bool // the stream has no more
	first    uint64
	earliest uint64
}

// estimate is a plan with its samples; they are taken of the plan's begun streams.
type estimate struct {
	plan    plan
	samples []sample
}

// cheapest chooses among plans. All must go back equally far in time to find
// want matches, and no less far than the plan with the sparsest streams needs
// for as many entries. So it asks each plan how many entries it reads until then.
func cheapest(ctx context.Context, r *reader, plans []plan, w window, want int) (plan, error) {
	estimates := make([]estimate, len(plans))
	var top uint64
	for i, p := range plans {
		estimates[i].plan = p
		if err := estimates[i].takeSamples(ctx, r, w); err != nil {
			return plan{}, err
		}
		for _, s := range estimates[i].samples {
			top = max(top, s.first)
		}
	}
	horizon := float64(top-min(w.since, top)) + 1
	var back float64
	for _, e := range estimates {
		back = max(back, e.timeFor(float64(want), top, horizon))
	}
	best, lowest := 0, 0.0
	for i, e := range estimates {
		if cost := e.cost(back, top); i == 0 || cost < lowest {
			best, lowest = i, cost
		}
	}
	return estimates[best].plan, nil
}

func (e *estimate) takeSamples(ctx context.Context, r *reader, w window) error {
	all := e.plan.prefixes
	n := min(len(all), sampleStreams)
	for i := range n {
		s := newStream(all[i*len(all)/n], w, sampleEntries)
		if _, err := s.head(ctx, r); err != nil {
			return err
		}
		seen := sample{entries: float64(len(s.buf)), ended: s.ended}
		if len(s.buf) > 0 {
			seen.first, seen.earliest = s.buf[0].at, s.buf[len(s.buf)-1].at
		}
		e.samples = append(e.samples, seen)
		e.plan.begun = append(e.plan.begun, s)
	}
	return nil
}

// entries estimates how many entries the plan's streams hold in the newest
// seconds before top.
func (e *estimate) entries(seconds float64, top uint64) (n float64) {
	for _, s := range e.samples {
		if s.entries == 0 {
			continue
		}
		within := s.entries * seconds / (float64(top-s.earliest) + 1)
		if s.ended {
			within = min(within, s.entries)
		}
		n += within
	}
	return n * float64(len(e.plan.prefixes)) / float64(len(e.samples))
}

// timeFor returns the seconds before top that hold want entries, up to horizon.
func (e *estimate) timeFor(want float64, top uint64, horizon float64) float64 {
	seconds := 1.0
	for seconds < horizon && e.entries(seconds, top) < want {
		seconds *= 2
	}
	return min(seconds, horizon)
}

func (e *estimate) cost(seconds float64, top uint64) float64 {
	each := 1.0
	if !e.plan.covered {
		each += costEvent
	}
	return costSeek*float64(len(e.plan.prefixes)) + each*e.entries(seconds, top)
}
