package fences_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"fencepost/lifecycle/fence"
	"fencepost/lifecycle/fence/dapr"
	"fencepost/lifecycle/fence/kv"
	"fencepost/lifecycle/pause"
	sidecar "fencepost/regress/dapr"
	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// childEnv names the variable with the crash, in JSON, that this binary is to go to.
const childEnv = "FENCEPOST_TEST_CRASH"

// crash is a child's way to its death: it does one thing and parks on the way.
type crash struct {
	Do    string      // claim, publish
	Point pause.Point // where it parks
	Nth   int         // at which coming there, from 1
	URL   string      // of the sidecar and of the sink
	Dir   string      // of the embedded store, where there is no URL
}

// parked is what a child says when it waits to be killed.
const parked = "parked"

var crashStream = fence.Stream{Owner: storetest.Key(0), Name: "s"}

const crashLease = time.Minute

// later is the clock of who comes after the child: its lease is over, and it will be a
// while until nobody remembers the stream.
func later() time.Time { return time.Now().Add(crashLease + time.Second) }

func crashChange(token string) fence.Change {
	return fence.Change{New: fence.TokenOf(token), Active: true, Lease: crashLease}
}

func crashNote(n int) *wire.Event {
	return storetest.Draft{Kind: 1, At: 1_700_000_000, Content: fmt.Sprint(n)}.Event()
}

// child is the whole life of the child process.
func child(mode string) {
	var c crash
	err := json.Unmarshal([]byte(mode), &c)
	if err == nil {
		err = c.run(context.Background())
	}
	fmt.Println("not parked:", err)
	os.Exit(1)
}

// hook parks at the point for ever once armed.
func (c *crash) hook(armed *bool) *pause.Hook {
	left := c.Nth
	return pause.NewHook(func(p pause.Point) {
		if !*armed || p != c.Point {
			return
		}
		if left--; left == 0 {
			fmt.Println(parked)
			select {}
		}
	})
}

func (c *crash) run(ctx context.Context) error {
	armed := c.Do == "claim"
	hook := c.hook(&armed)
	if c.URL == "" {
		return c.native(ctx, hook, &armed)
	}
	e := kv.New(kv.Options{
		KV: dapr.New(dapr.Options{URL: c.URL, Store: sidecar.Component}), Sink: remote{c.URL}, Pause: hook,
	})
	if _, err := e.Set(ctx, crashStream, crashChange("child")); err != nil {
		return err
	}
	armed = true
	_, err := e.Publish(ctx, crashStream, fence.TokenOf("child"), nil, crashNote(1))
	return err
}

// native does the same in the embedded store.
func (c *crash) native(ctx context.Context, hook *pause.Hook, armed *bool) error {
	s, err := embedded.Open(c.Dir, embedded.Options{})
	if err != nil {
		return err
	}
	write := func(w store.Write) error {
		hook.At(pause.EventPlanned)
		out := s.Append(ctx, []store.Write{w})[0]
		hook.At(pause.EventCommitted)
		return out.Err
	}
	claim := crashChange("child")
	if err := write(store.Write{Fence: &store.Fence{Stream: crashStream, Change: &claim}}); err != nil {
		return err
	}
	*armed = true
	return write(store.Write{Event: crashNote(1), Fence: &store.Fence{Stream: crashStream, Token: fence.TokenOf("child")}})
}

// remote is the sink of the parent process, by HTTP.
type remote struct{ url string }

func (r remote) Known(ctx context.Context, id string) (position uint64, err error) {
	err = r.call(ctx, "/known/"+id, nil, &position)
	return position, err
}

func (r remote) Deliver(ctx context.Context, _ []string, ev *wire.Event) (d kv.Delivery, err error) {
	err = r.call(ctx, "/deliver", ev.Raw(), &d)
	return d, err
}

func (r remote) call(ctx context.Context, path string, body []byte, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
