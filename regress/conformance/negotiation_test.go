package conformance_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip77"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// shelf is a store of events for go-nostr's client of NIP-77.
type shelf struct {
	mu     sync.Mutex // guards the field below
	events map[string]nostr.Event
}

func newShelf(events ...*wire.Event) *shelf {
	s := &shelf{events: map[string]nostr.Event{}}
	for _, e := range events {
		s.events[e.ID] = e.Event
	}
	return s
}

func (s *shelf) Publish(_ context.Context, e nostr.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events[e.ID] = e
	return nil
}

func (s *shelf) QuerySync(_ context.Context, f nostr.Filter) (out []*nostr.Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if f.Matches(&e) {
			out = append(out, &e)
		}
	}
	return out, nil
}

func (s *shelf) QueryEvents(ctx context.Context, f nostr.Filter) (chan *nostr.Event, error) {
	found, err := s.QuerySync(ctx, f)
	out := make(chan *nostr.Event, len(found))
	for _, e := range found {
		out <- e
	}
	close(out)
	return out, err
}

func (s *shelf) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.events))
}

// NIP-77. A client that others wrote makes both sides the same.
func TestAnotherClientReconcilesWithTheRelay(t *testing.T) {
	t.Parallel()
	if raceFlag != "" {
		t.Skip("go-nostr v0.52.3 has a data race where it connects: make conformance runs this without the detector")
	}
	p := target(t).dial(t)
	topic, now := random(), nostr.Now()
	tag := nostr.Tag{"t", topic}
	var both, all []*wire.Event
	for i := range 400 {
		e := signed(p.secret, 1, now-nostr.Timestamp(i/3), fmt.Sprint(topic, i), tag)
		all = append(all, e)
		if i%4 != 0 {
			p.store(e)
		}
		if i%5 != 0 {
			both = append(both, e)
		}
	}
	local := newShelf(both...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	filter := nostr.Filter{Kinds: []int{1}, Tags: nostr.TagMap{"t": {topic}}}
	require.NoError(t, nip77.NegentropySync(ctx, local, p.relay.url, filter, nip77.Both))
	missing := map[int]bool{}
	for i := range all {
		missing[i] = i%20 == 0 // neither side had it
	}
	var want []string
	for i, e := range all {
		if !missing[i] {
			want = append(want, e.ID)
		}
	}
	slices.Sort(want)
	require.Equal(t, want, local.ids())
	ids, err := nip77.FetchIDsOnly(ctx, p.relay.url, filter)
	require.NoError(t, err)
	var got []string
	for id := range ids {
		got = append(got, id)
	}
	slices.Sort(got)
	require.Equal(t, want, slices.Compact(got))
}
