package kv_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/fence"
	"fencepost/lifecycle/fence/kv"
	"fencepost/regress/dapr"
	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

const lease = 10 * time.Second

var stream = fence.Stream{Owner: storetest.Key(0), Name: "s"}

// sink writes frames into a store in memory, and can be told to fail.
type sink struct {
	store *storetest.Fake

	mu        sync.Mutex      // guards the fields below
	failing   map[string]bool // ids
	delivered []string        // ids, each as often as it was handed over
}

var errSink = errors.New("disk is full")

func (s *sink) Known(ctx context.Context, id string) (uint64, error) {
	snap, err := s.store.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	found, err := snap.Prefixed(ctx, id, 1)
	if err != nil || len(found) == 0 {
		return 0, errors.Join(err, snap.Close())
	}
	return uint64(found[0].Position), snap.Close()
}

func (s *sink) Deliver(ctx context.Context, _ []string, ev *wire.Event) (kv.Delivery, error) {
	if s.note(ev.ID) {
		return kv.Delivery{}, errSink
	}
	out := s.store.Append(ctx, []store.Write{{Event: ev}})[0]
	switch {
	case out.Err == nil || errors.Is(out.Err, store.ErrDuplicate):
		return kv.Delivery{Position: uint64(out.Position)}, nil
	case errors.Is(out.Err, store.ErrSuperseded):
		return kv.Delivery{Refused: true, Reason: "duplicate: older"}, nil
	default:
		return kv.Delivery{}, out.Err
	}
}

func (s *sink) note(id string) (fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delivered = append(s.delivered, id)
	return s.failing[id]
}

// fail lets deliveries of these events fail, and all others succeed.
func (s *sink) fail(events ...*wire.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = make(map[string]bool)
	for _, e := range events {
		s.failing[e.ID] = true
	}
}

func (s *sink) times(ev *wire.Event) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.delivered {
		if id == ev.ID {
			n++
		}
	}
	return n
}

// town is some processes over one store of fences and one of events.
type town struct {
	t      *testing.T
	memory kv.KV
	sink   *sink
}

func newTown(t *testing.T, memory kv.KV) *town {
	s := &sink{store: storetest.NewFake(time.Now)}
	t.Cleanup(func() { require.NoError(t, s.store.Close()) })
	return &town{t: t, memory: memory, sink: s}
}

// process returns one more process; c may be nil.
func (w *town) process(c *harness.Controller) *kv.Engine {
	o := kv.Options{KV: w.memory, Sink: w.sink}
	if c != nil {
		o.Pause = c.Hook()
	}
	return kv.New(o)
}

func change(expected, fresh string, active bool) fence.Change {
	return fence.Change{Expected: fence.TokenOf(expected), New: fence.TokenOf(fresh), Active: active, Lease: lease}
}

func (w *town) claim(e *kv.Engine, expected, fresh string) {
	w.t.Helper()
	_, err := e.Set(w.t.Context(), stream, change(expected, fresh, true))
	require.NoError(w.t, err)
}

func publish(ctx context.Context, e *kv.Engine, token string, ev *wire.Event) (fence.Receipt, error) {
	return e.Publish(ctx, stream, fence.TokenOf(token), nil, ev)
}

// outcome is what a call in the background came to.
type outcome struct {
	receipt fence.Receipt
	err     error
}

func (w *town) publishing(e *kv.Engine, token string, ev *wire.Event) chan outcome {
	done := make(chan outcome, 1)
	ctx := w.t.Context()
	go func() {
		r, err := publish(ctx, e, token, ev)
		done <- outcome{r, err}
	}()
	return done
}

func requireRefused(t *testing.T, code fence.Code, err error) {
	t.Helper()
	var refusal *fence.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, code, refusal.Code)
}

// log returns the contents of the events in the log.
func (w *town) log() (contents []string) {
	w.t.Helper()
	rows, err := w.sink.store.ReadLog(w.t.Context(), 0, 1<<20)
	require.NoError(w.t, err)
	for _, r := range rows {
		contents = append(contents, r.Event.Content)
	}
	return contents
}

func (w *town) view() fence.View {
	w.t.Helper()
	v, err := w.process(nil).Look(w.t.Context(), stream)
	require.NoError(w.t, err)
	return v
}

func note(n int) *wire.Event {
	return storetest.Draft{Kind: 1, At: 1_700_000_000, Content: fmt.Sprint(n)}.Event()
}

// kinds are the behaviours of components.
var kinds = map[string]dapr.Kind{"atomic": dapr.Atomic, "redis": dapr.Redis}
