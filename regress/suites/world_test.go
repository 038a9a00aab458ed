//go:build !nopause

package suites_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
	"fencepost/regress/harness"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// secretKey signs what must be verified.
const secretKey = "0000000000000000000000000000000000000000000000000000000000000003"

// world is a relay that can be parked, with one client whose frames are checked.
type world struct {
	*harness.Relay
	t       *testing.T
	control *harness.Controller
	client  *harness.Client
}

// inWorld runs test in a bubble of its own.
func inWorld(t *testing.T, o harness.Options, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Control, o.Trace = harness.NewController(), true
		relay := harness.New(t, o)
		test(t, &world{Relay: relay, t: t, control: o.Control, client: relay.Connect(t)})
	})
}

// task is something that runs beside the test and may be parked.
type task struct {
	stop *harness.Stop // nil when it is not to be parked
	done chan struct{} // closed at its end
}

// start runs do until everything is blocked.
func start(do func()) *task {
	k := &task{done: make(chan struct{})}
	go func() {
		defer close(k.done)
		do()
	}()
	synctest.Wait()
	return k
}

// startTo runs do until somebody parks at p, or to its end if nobody does. An
// empty p parks nobody.
func (w *world) startTo(p pause.Point, do func()) *task {
	if p == "" {
		return start(do)
	}
	stop := w.control.Arm(p)
	k := start(do)
	k.stop = stop
	return k
}

// ended reports whether the task is over.
func (k *task) ended() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// parked reports whether somebody has reached the task's point.
func (k *task) parked() bool { return k.stop != nil && k.stop.Parked() }

// release lets the task go on, which may wait for something else then.
func (k *task) release() {
	if k.stop != nil {
		k.stop.Release()
	}
	synctest.Wait()
}

// finish lets the task go on and expects it to end.
func (k *task) finish(t *testing.T) {
	t.Helper()
	k.release()
	require.True(t, k.ended(), "the task does not end")
}

// fanout runs the follower until it parks at p.
func (w *world) fanout(p pause.Point) *task {
	return w.startTo(p, func() {
		_, err := w.Follower.Step(w.t.Context())
		assert.NoError(w.t, err)
	})
}

// send runs the reader, and what it starts, until somebody parks at p.
func (w *world) send(p pause.Point, msg string) *task {
	return w.startTo(p, func() { w.client.Send(msg) })
}

// open sends a REQ and takes its answer to the end.
func (w *world) open(msg string) []string {
	w.client.Send(msg)
	return w.client.Settle()
}

// handle returns the generation of the client's id that is in the index and asks
// for ev.
func (w *world) handle(id string, ev *wire.Event) *lifecycle.Handle {
	w.t.Helper()
	for _, h := range w.Index.Candidates(nil, ev) {
		if h.ID() == id && h.Conn() == w.client.Conn {
			return h
		}
	}
	require.FailNow(w.t, "no such generation in the index")
	return nil
}

// settled checks the trace, and that nothing but the given number of
// subscriptions is left in the index and in the connection.
func (w *world) settled(subscriptions int) {
	w.t.Helper()
	w.client.Check(w.t)
	require.Equal(w.t, subscriptions, w.Index.Len(), "handles in the index")
	usage := w.client.Conn.Usage()
	require.Equal(w.t, subscriptions, usage.Subscriptions, "subscriptions of the connection")
	require.Zero(w.t, usage.Frames, "frames counted and not there")
	require.Zero(w.t, usage.Bytes, "bytes counted and not there")
	if subscriptions == 0 {
		require.Zero(w.t, usage.Reserved, "bytes reserved for nobody")
	}
}

// after blocks until the bubble's clock has moved on.
func after(d time.Duration) { <-time.After(d) }

// note returns event number n of a kind. A higher number is newer.
func note(n, kind int, tags ...nostr.Tag) *wire.Event {
	return storetest.Draft{Key: 1, At: int64(1000 + n), Kind: kind, Tags: tags, Content: fmt.Sprint("note ", n)}.Event()
}

// notes returns n events of a kind.
func notes(n, kind int) []*wire.Event {
	out := make([]*wire.Event, n)
	for i := range out {
		out[i] = note(i, kind)
	}
	return out
}

// publish returns an EVENT message whose signature is true.
func publish(t *testing.T, n int, tags ...nostr.Tag) (msg string, ev *wire.Event) {
	t.Helper()
	e := nostr.Event{CreatedAt: nostr.Timestamp(2000 + n), Kind: 1, Tags: tags, Content: fmt.Sprint("signed ", n)}
	require.NoError(t, e.Sign(secretKey))
	ev = wire.NewEvent(e)
	return string(wire.AppendEventMessage(nil, ev)), ev
}

// authMessage answers the client's challenge (NIP-42).
func authMessage(t *testing.T, w *world) string {
	t.Helper()
	return w.client.AuthMessage(t, secretKey)
}

// req returns a REQ of id for one kind.
func req(id string, kind int) string { return fmt.Sprintf(`["REQ",%q,{"kinds":[%d]}]`, id, kind) }

func closing(id string) string { return fmt.Sprintf(`["CLOSE",%q]`, id) }

func frame(id string, ev *wire.Event) string { return string(wire.AppendEvent(nil, id, ev)) }

func eose(id string) string { return string(wire.AppendEOSE(nil, id, wire.HintFinish)) }

// verbs returns the verbs of frames, which is what most tests are about.
func verbs(t *testing.T, frames []string) []string {
	t.Helper()
	out := []string{}
	for _, f := range frames {
		m, err := wire.DecodeRelay([]byte(f))
		require.NoError(t, err)
		out = append(out, m.Verb)
	}
	return out
}

// requireClosed expects frames to be one CLOSED of id with the prefix.
func requireClosed(t *testing.T, frames []string, id string, prefix wire.Prefix) {
	t.Helper()
	require.Len(t, frames, 1)
	m, err := wire.DecodeRelay([]byte(frames[0]))
	require.NoError(t, err)
	require.Equal(t, "CLOSED", m.Verb)
	require.Equal(t, id, m.Sub)
	require.True(t, strings.HasPrefix(m.Text, string(prefix)+": "), m.Text)
}

// reqPoints are the places of a REQ, in order; before the first nothing has
// happened. The reader stands at the first, a query at the others.
var reqPoints = []pause.Point{
	pause.ReqReserved, pause.ReqStarted, pause.ReqIndexed, pause.ReqSnapshot,
	pause.ReqBegun, pause.ReqPage, pause.ReqReplayed,
}

// fanoutPoints are the places of the follower, in order.
var fanoutPoints = []pause.Point{
	pause.FanoutRead, pause.FanoutBegun, pause.FanoutSelected, pause.FanoutDecided,
}
