package publish_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/lifecycle/fence"
	"fencepost/relay/publish"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/web/nip98"
	"fencepost/relay/wire"
)

// alice and bob are secret keys; mallory's key may hold no streams.
const (
	alice   = "0000000000000000000000000000000000000000000000000000000000000003"
	bob     = "0000000000000000000000000000000000000000000000000000000000000004"
	mallory = "0000000000000000000000000000000000000000000000000000000000000005"
)

// base is the URL of the relay.
const base = "https://relay.example"

// Secrets of owners.
const (
	one = "token number one"
	two = "token number two"
)

// plain writes every event that is not called unwanted.
type plain struct{ store *storetest.Fake }

func (p plain) Publish(ctx context.Context, _ []string, ev *wire.Event, f *store.Fence) (store.Outcome, wire.Reason) {
	if ev.Content == "unwanted" {
		r := wire.Because(wire.Blocked, "unwanted")
		return store.Outcome{Err: r}, r
	}
	out := p.store.Append(ctx, []store.Write{{Event: ev, Fence: f}})[0]
	switch {
	case out.Err == nil:
		return out, wire.Reason{}
	case errors.Is(out.Err, store.ErrDuplicate):
		return out, wire.Because(wire.Duplicate, "already have this event")
	default:
		return out, wire.Because(wire.Failed, "could not save the event")
	}
}

// api is the handler over a store in memory.
type api struct {
	handler http.Handler
	store   *storetest.Fake
}

func newAPI(t testing.TB) *api {
	a := &api{store: storetest.NewFake(time.Now)}
	t.Cleanup(func() { require.NoError(t, a.store.Close()) })
	a.serve(publish.NewNative(a.store, plain{a.store}))
	return a
}

func (a *api) serve(e publish.Engine) {
	refused, _ := nostr.GetPublicKey(mallory)
	a.handler = publish.New(publish.Options{
		Engine: e,
		Verifier: nip98.New(nip98.Options{
			Now: time.Now, Ledger: nip98.NewMemory(1000, time.Now), Bases: func(*http.Request) []string { return []string{base} },
		}),
		MayHold: func(key string) error {
			if key == refused {
				return wire.Because(wire.Restricted, "not you")
			}
			return nil
		},
		MaxBody: func() int64 { return 2000 },
		Logger:  slog.New(slog.DiscardHandler),
	})
}

// answer is what a call was answered with.
type answer struct {
	status int
	header http.Header
	body   map[string]any
}

// call signs a request by key and holds the answer to the description.
func (a *api) call(t testing.TB, key, method, path string, body any) answer {
	t.Helper()
	var raw []byte
	switch b := body.(type) {
	case nil:
	case string:
		raw = []byte(b)
	default:
		var err error
		raw, err = json.Marshal(b)
		require.NoError(t, err)
	}
	header, err := nip98.Header(key, method, base+path, raw, time.Now())
	require.NoError(t, err)
	return a.send(t, method, path, raw, func(r *http.Request) { r.Header.Set("Authorization", header) })
}

func (a *api) send(t testing.TB, method, path string, body []byte, change func(*http.Request)) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	change(r)
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	out := answer{status: w.Code, header: w.Header()}
	raw, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	if len(raw) > 0 {
		require.NoError(t, json.Unmarshal(raw, &out.body), string(raw))
	}
	requireDescribed(t, method, r.URL.EscapedPath(), out)
	return out
}

func (a *api) set(t testing.TB, key, stream, expected, fresh string, active bool) answer {
	t.Helper()
	return a.call(t, key, "POST", "/api/publishers/"+stream+"/fence", map[string]any{
		"expected_token": expected, "new_token": fresh, "active": active, "lease_seconds": 60,
	})
}

func (a *api) frame(t testing.TB, key, stream, token string, ev *wire.Event) answer {
	t.Helper()
	return a.call(t, key, "POST", "/api/publishers/"+stream+"/frames", map[string]any{
		"token": token, "event": json.RawMessage(ev.Raw()),
	})
}

func requireRefused(t testing.TB, got answer, status int, code string, epoch int) {
	t.Helper()
	require.Equal(t, status, got.status, got.body)
	require.Equal(t, code, got.body["code"])
	if epoch == 0 {
		require.NotContains(t, got.body, "epoch")
		return
	}
	require.EqualValues(t, epoch, got.body["epoch"])
}

func event(t testing.TB, key, content string) *wire.Event {
	t.Helper()
	e := nostr.Event{Kind: 1, CreatedAt: nostr.Now(), Content: content}
	require.NoError(t, e.Sign(key))
	return wire.NewEvent(e)
}

// broken is an engine that cannot reach its store, or refuses.
type broken struct{ err error }

func (b broken) Set(context.Context, fence.Stream, fence.Change) (uint64, error) { return 0, b.err }
func (b broken) Look(context.Context, fence.Stream) (fence.View, error) {
	return fence.View{}, b.err
}

func (b broken) Publish(context.Context, fence.Stream, fence.Token, []string, *wire.Event) (fence.Receipt, error) {
	return fence.Receipt{}, b.err
}
