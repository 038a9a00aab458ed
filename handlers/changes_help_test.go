package handlers_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/lifecycle"
	"fencepost/regress/harness"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// cut is a store whose log begins at a floor and that can be of another epoch.
type cut struct {
	store.Store
	floor *atomic.Uint64
	epoch *atomic.Pointer[string]
}

func (c cut) ReadLog(ctx context.Context, after store.Position, most int) ([]store.Entry, error) {
	if uint64(after)+1 < c.floor.Load() {
		return nil, store.ErrFloor
	}
	return c.Store.ReadLog(ctx, after, most)
}

func (c cut) Log(ctx context.Context) (store.LogInfo, error) {
	info, err := c.Store.Log(ctx)
	info.Floor = store.Position(max(c.floor.Load(), 1))
	if e := c.epoch.Load(); e != nil {
		info.Epoch = store.Epoch(*e)
	}
	return info, err
}

// feeding runs test with five notes of kind 1 and 2 in turn, at positions 1 to 5.
func feeding(t *testing.T, test func(t *testing.T, r *harness.Relay, c *harness.Client, log cut)) {
	t.Helper()
	log := cut{floor: new(atomic.Uint64), epoch: new(atomic.Pointer[string])}
	o := wrap(func(s store.Store) store.Store {
		log.Store = s
		return log
	})
	o.Limits = harness.DefaultLimits()
	talk(t, o, func(t *testing.T, r *harness.Relay, c *harness.Client) {
		for n := 1; n <= 5; n++ {
			r.Commit(t, fruit(n))
		}
		r.Step(t)
		test(t, r, c, log)
	})
}

// fruit is note n: of kind 1 when n is odd, else of kind 2.
func fruit(n int) *wire.Event {
	return storetest.Draft{Key: 1, Kind: 2 - n%2, At: now + int64(n), Content: fmt.Sprint("note ", n)}.Event()
}

func deletion(of *wire.Event) *wire.Event {
	return storetest.Draft{Key: 1, Kind: 5, At: now + 100, Tags: nostr.Tags{{"e", of.ID}}}.Event()
}

// changes sends a CHANGES of x and tells what comes of it.
func changes(t *testing.T, c *harness.Client, fields string) []string {
	t.Helper()
	return told(say(t, c, `["CHANGES","x",{`+fields+`}]`))
}

// told writes each message down in short.
func told(messages []wire.RelayMessage) []string {
	out := []string{}
	for _, m := range messages {
		line := m.Verb + " " + m.Text
		switch m.Change {
		case "EVENT":
			line = fmt.Sprint(m.Position, " ", m.Event.Content)
		case "REMOVED":
			line = fmt.Sprint(m.Position, " -", m.ID[:4])
		case "EOSE":
			line = fmt.Sprint("EOSE ", m.Position)
			if m.More {
				line += " more"
			}
		case "ERR":
			line, _, _ = strings.Cut(m.Text, ":")
			line = "ERR " + line
		}
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

func gone(at store.Position, ev *wire.Event) string { return fmt.Sprint(at, " -", ev.ID[:4]) }

// unreadable is a store whose log cannot be read.
type unreadable struct{ store.Store }

func (unreadable) ReadLog(context.Context, store.Position, int) ([]store.Entry, error) {
	return nil, errDisk
}

// slowLog is a store that takes a second for each page of the log.
type slowLog struct{ store.Store }

func (s slowLog) ReadLog(ctx context.Context, after store.Position, most int) ([]store.Entry, error) {
	select {
	case <-time.After(time.Second):
		return s.Store.ReadLog(ctx, after, most)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hide shows everything but one event.
func hide(ev *wire.Event) func(*wire.Event) lifecycle.Sight {
	return func(e *wire.Event) lifecycle.Sight {
		return lifecycle.Sight{May: func([]string) bool { return e.ID != ev.ID }}
	}
}
