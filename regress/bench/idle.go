package bench

import (
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// idle opens connections with one subscription each, waits a moment and looks how
// much the relay's memory has grown since the run began.
func idle(_ *run, s *stage, round int) ([]Figure, error) {
	n := s.options.sizes.idle
	links, err := s.dialMany(n)
	if err != nil {
		return nil, err
	}
	for i, l := range links {
		f := wire.NewFilter(nostr.Filter{Authors: []string{stranger(s.options.Seed, i)}, Kinds: []int{1}, Limit: 1})
		if err := (&subscriber{stage: s, link: l, filters: []*wire.Filter{f}}).subscribe(); err != nil {
			return nil, err
		}
	}
	if err := s.pause(s.options.sizes.settling); err != nil {
		return nil, err
	}
	rss, pss, err := s.peer.process.memory()
	if err != nil {
		return nil, err
	}
	each := func(bytes int64) float64 { return float64(bytes) / 1024 / float64(n) }
	return []Figure{{Name: "resident KiB each", Value: each(rss - s.peer.rss)}, {Name: "PSS KiB each", Value: each(pss - s.peer.pss)}}, nil
}

// pause waits, which is no silence of the relay's.
func (s *stage) pause(d time.Duration) error {
	over := time.NewTimer(d)
	defer over.Stop()
	step := time.NewTicker(s.options.Patience / (2 * looks))
	defer step.Stop()
	for {
		select {
		case <-over.C:
			return nil
		case <-step.C:
			s.progress.Add(1)
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}
