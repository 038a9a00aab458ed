package fences_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/fence"
	"fencepost/lifecycle/fence/kv"
	"fencepost/lifecycle/pause"
	sidecar "fencepost/regress/dapr"
	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// killed starts a child that parks where c says, and kills it there.
func killed(t *testing.T, c crash) {
	t.Helper()
	mode, err := json.Marshal(c)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(cmd.Environ(), childEnv+"="+string(mode))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, parked+"\n", line)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed, as it was meant to be
}

// local is the sink that outlives the child.
type local struct{ store *storetest.Fake }

func (l local) Known(ctx context.Context, id string) (uint64, error) {
	snap, err := l.store.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	found, err := snap.Prefixed(ctx, id, 1)
	if err = errors.Join(err, snap.Close()); err != nil || len(found) == 0 {
		return 0, err
	}
	return uint64(found[0].Position), nil
}

func (l local) Deliver(ctx context.Context, _ []string, ev *wire.Event) (kv.Delivery, error) {
	out := l.store.Append(ctx, []store.Write{{Event: ev}})[0]
	if errors.Is(out.Err, store.ErrDuplicate) {
		out.Err = nil
	}
	return kv.Delivery{Position: uint64(out.Position)}, out.Err
}

// serve lets a child reach the sink and a sidecar over m.
func (l local) serve(t *testing.T, m *sidecar.Memory) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/v1.0/", sidecar.Sidecar(m))
	reply := func(w http.ResponseWriter, v any, err error) {
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(v) // an error means that the child is gone
	}
	mux.HandleFunc("/known/{id}", func(w http.ResponseWriter, r *http.Request) {
		position, err := l.Known(r.Context(), r.PathValue("id"))
		reply(w, position, err)
	})
	mux.HandleFunc("/deliver", func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var d kv.Delivery
		if ev, decodeErr := wire.DecodeEvent(raw); err == nil && decodeErr == nil {
			d, err = l.Deliver(context.WithoutCancel(r.Context()), nil, ev)
		}
		reply(w, d, errors.Join(err))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// A process is killed before and after each write on its way, and another one goes on:
// a crash before the admission admits nothing, one after it loses nothing (P7, P10, P11),
// and a claim that nobody will use is in the way for one lease (P5).
func TestAKilledProcessLeavesAStreamInOrder(t *testing.T) {
	t.Parallel()
	for kindName, kind := range map[string]sidecar.Kind{"atomic": sidecar.Atomic, "redis": sidecar.Redis} {
		for name, row := range map[string]struct {
			crash    crash
			claimed  bool // the child had the stream
			admitted bool // and its frame was admitted
			items    int  // left behind that nothing refers to
		}{
			"before the claim":        {crash{Do: "claim", Point: pause.FenceJudged, Nth: 1}, false, false, 0},
			"after the claim":         {crash{Do: "claim", Point: pause.FenceWritten, Nth: 1}, true, false, 0},
			"before the admission":    {crash{Do: "publish", Point: pause.FenceJudged, Nth: 1}, true, false, 0},
			"after the admission":     {crash{Do: "publish", Point: pause.FenceWritten, Nth: 1}, true, true, 0},
			"before the drain lock":   {crash{Do: "publish", Point: pause.FenceJudged, Nth: 2}, true, true, 0},
			"after the drain lock":    {crash{Do: "publish", Point: pause.DrainLocked, Nth: 1}, true, true, 0},
			"after the delivery":      {crash{Do: "publish", Point: pause.DrainDelivered, Nth: 1}, true, true, 0},
			"before the swap":         {crash{Do: "publish", Point: pause.FenceJudged, Nth: 3}, true, true, 0},
			"after the swap":          {crash{Do: "publish", Point: pause.DrainSwapped, Nth: 1}, true, true, 1},
			"before the lock's end":   {crash{Do: "publish", Point: pause.FenceJudged, Nth: 4}, true, true, 0},
			"after the end of a lock": {crash{Do: "publish", Point: pause.FenceWritten, Nth: 4}, true, true, 0},
		} {
			t.Run(kindName+" "+name, func(t *testing.T) {
				t.Parallel()
				m := sidecar.NewMemory(kind)
				sink := local{storetest.NewFake(time.Now)}
				row.crash.URL = sink.serve(t, m)
				killed(t, row.crash)
				e := kv.New(kv.Options{KV: m, Sink: sink, Now: later})
				v, err := e.Look(t.Context(), crashStream)
				require.NoError(t, err)
				require.Equal(t, row.claimed, v.Exists())
				want := []*wire.Event{crashNote(2)}
				if row.admitted {
					want = []*wire.Event{crashNote(1), crashNote(2)}
				}
				requireOrder(t, e, sink, want)
				require.Equal(t, row.items, m.Keys("item"))
			})
		}
	}
}

// requireOrder lets a successor take over and requires that the log has these events.
func requireOrder(t *testing.T, e *kv.Engine, sink local, want []*wire.Event) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	swept := make(chan struct{})
	go func() { defer close(swept); e.Run(ctx) }()
	claimed := func() bool {
		_, err := e.Set(ctx, crashStream, crashChange("successor"))
		return err == nil
	}
	require.Eventually(t, claimed, 30*time.Second, 20*time.Millisecond)
	got, err := e.Publish(ctx, crashStream, fence.TokenOf("successor"), nil, crashNote(2))
	require.NoError(t, err)
	require.EqualValues(t, len(want), got.Position)
	requireLog(t, sink.store, want)
	v, err := e.Look(ctx, crashStream)
	require.NoError(t, err)
	require.EqualValues(t, len(want)+1, v.Next, "numbers are dense")
	require.Zero(t, v.Pending)
	cancel()
	<-swept
}

func requireLog(t *testing.T, s store.Store, want []*wire.Event) {
	t.Helper()
	rows, err := s.ReadLog(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, rows, len(want))
	for i, r := range rows {
		require.Equal(t, want[i].ID, r.Event.ID)
	}
}

// The same of the embedded store, where admission and log are one commit.
func TestAKilledRelayLeavesAStreamInOrder(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		crash             crash
		claimed, admitted bool
	}{
		"before the claim":     {crash{Do: "claim", Point: pause.EventPlanned, Nth: 1}, false, false},
		"after the claim":      {crash{Do: "claim", Point: pause.EventCommitted, Nth: 1}, true, false},
		"before the admission": {crash{Do: "publish", Point: pause.EventPlanned, Nth: 1}, true, false},
		"after the admission":  {crash{Do: "publish", Point: pause.EventCommitted, Nth: 1}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row.crash.Dir = t.TempDir()
			killed(t, row.crash)
			s, err := embedded.Open(row.crash.Dir, embedded.Options{Now: later})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			state, _, err := s.Fence(t.Context(), crashStream)
			require.NoError(t, err)
			require.Equal(t, row.claimed, state.Exists())
			c := crashChange("successor")
			claim := func() bool {
				out := s.Append(t.Context(), []store.Write{{Fence: &store.Fence{Stream: crashStream, Change: &c}}})
				return out[0].Err == nil
			}
			require.Eventually(t, claim, 30*time.Second, 20*time.Millisecond)
			want := []*wire.Event{crashNote(2)}
			if row.admitted {
				want = []*wire.Event{crashNote(1), crashNote(2)}
			}
			f := &store.Fence{Stream: crashStream, Token: fence.TokenOf("successor")}
			out := s.Append(t.Context(), []store.Write{{Event: crashNote(2), Fence: f}})[0]
			require.NoError(t, out.Err)
			require.EqualValues(t, len(want), out.Frame.Number)
			requireLog(t, s, want)
		})
	}
}
