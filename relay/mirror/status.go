package mirror

import (
	"sync/atomic"

	"fencepost/relay/store"
)

// Status is what a mirror does, in this process.
type Status struct {
	URL       string         `json:"url"`
	Direction Direction      `json:"direction"`
	Stream    string         `json:"stream"`
	Owned     bool           `json:"owned"` // by this process
	Connected bool           `json:"connected"`
	Behind    bool           `json:"behind"`           // the past is still being fetched
	Stored    uint64         `json:"stored"`           // events taken in
	Known     uint64         `json:"known"`            // events that came and were here already
	Refused   uint64         `json:"refused"`          // events that came and are not wanted here
	Published uint64         `json:"published"`        // events that the upstream took
	Rejected  uint64         `json:"rejected"`         // events that it refused
	Sent      store.Position `json:"sent,omitempty"`   // up: the last position that was dealt with
	Failures  uint64         `json:"failures"`         // connections that failed or ended
	Reason    string         `json:"reason,omitempty"` // why the last one did, in one word
}

// counts are the numbers of a mirror since the process began.
type counts struct {
	owned, connected, behind            atomic.Bool
	stored, known, refused              atomic.Uint64
	published, rejected, failures, sent atomic.Uint64
	reason                              atomic.Pointer[string]
}

func (c *counts) fail(err error) {
	c.failures.Add(1)
	word := reasonOf(err)
	c.reason.Store(&word)
}

// Status returns what the mirror does now.
func (m *Mirror) Status() Status {
	c := &m.counts
	s := Status{
		URL: m.spec.URL, Direction: m.spec.Direction, Stream: m.stream.Name,
		Owned: c.owned.Load(), Connected: c.connected.Load(), Behind: c.behind.Load(),
		Stored: c.stored.Load(), Known: c.known.Load(), Refused: c.refused.Load(),
		Published: c.published.Load(), Rejected: c.rejected.Load(), Failures: c.failures.Load(),
		Sent: store.Position(c.sent.Load()),
	}
	if r := c.reason.Load(); r != nil {
		s.Reason = *r
	}
	return s
}
