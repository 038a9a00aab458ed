package bench

import (
	"math/rand/v2"
	"slices"
	"time"
)

// churn lets connections come and go while others publish. Each connection asks
// one question, reads the answer and leaves; a new one takes its place at a fixed
// pace. Publishers have one event under way, and send at most one in a ChurnPace.
func churn(r *run, s *stage, round int) ([]Figure, error) {
	sizes := s.options.sizes
	events, err := r.events(churnSet(s.options, round))
	if err != nil {
		return nil, err
	}
	f := newFlow(events, sizes.churnPublishers, 1, func(int) int { return 0 })
	links, err := s.dialMany(sizes.churnPublishers)
	if err != nil {
		return nil, err
	}
	var publishers []*publisher
	for n, l := range links {
		p := s.publisher(f, n, l)
		p.pace, p.durations = sizes.churnPace, true
		publishers = append(publishers, p)
	}
	m, err := s.begin()
	if err != nil {
		return nil, err
	}
	until := m.began.Add(sizes.churning)
	latencies := make([]Histogram, sizes.churners)
	for _, p := range publishers {
		p.until = until
		s.spawn("bench answers", p.read)
	}
	err = s.all("bench churn", sizes.churners+len(publishers), func(i int) (err error) {
		if i >= sizes.churners {
			return publishers[i-sizes.churners].write()
		}
		latencies[i], err = r.churner(s, i, until)
		return err
	})
	if err != nil {
		return nil, err
	}
	u, err := m.end()
	var asked, published Histogram
	for i := range latencies {
		asked.Merge(&latencies[i])
	}
	for _, p := range publishers {
		published.Merge(&p.latency)
	}
	return slices.Concat(
		quantiles("EOSE", &asked), quantiles("OK", &published), u.rates("REQ", int(asked.Count())),
		[]Figure{{Name: "events per s", Value: float64(f.oks.Load()) / u.wall.Seconds()}},
	), err
}

// churner is one place among the connections. It begins at a moment of its own, so
// that they do not all come at once.
func (r *run) churner(s *stage, i int, until time.Time) (latency Histogram, err error) {
	sizes := s.options.sizes
	random := rand.New(rand.NewPCG(s.options.Seed, uint64(i)))
	if err := s.pause(time.Duration(i) * sizes.cycle / time.Duration(sizes.churners)); err != nil {
		return latency, err
	}
	cycle := time.NewTicker(sizes.cycle)
	defer cycle.Stop()
	for time.Now().Before(until) {
		l, err := s.dial()
		if err != nil {
			return latency, err
		}
		a := s.asker(l, []question{askMentions(r.library, random)})
		if err := a.ask(time.Time{}); err != nil {
			return latency, err
		}
		latency.Merge(&a.latency)
		if err := s.drop(l); err != nil {
			return latency, err
		}
		select {
		case <-cycle.C:
		case <-s.ctx.Done():
			return latency, s.ctx.Err()
		}
	}
	return latency, nil
}
