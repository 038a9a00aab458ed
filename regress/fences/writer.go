package fences

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	random "math/rand/v2"
	"net/http"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/web/nip98"
	"fencepost/relay/wire"
)

// Writer is what one writing process needs to know.
type Writer struct {
	Number int
	URLs   []string // of the relays, http://host:port
	Key    string   // secret, of the stream
	Stream string
	Lease  int // seconds
	Revoke int // one of so many frames is followed by a revocation; 0 for none
}

// writing is a Writer at work.
type writing struct {
	Writer
	tell  *teller
	http  *http.Client
	token string // "" while it is no owner
	epoch uint64
	n     int
}

// Run writes until ctx ends and tells of it on out.
func (w Writer) Run(ctx context.Context, out io.Writer) {
	at := &writing{Writer: w, tell: &teller{to: out}, http: &http.Client{Timeout: 10 * time.Second}}
	for ctx.Err() == nil {
		if at.token == "" {
			at.claim(ctx)
		} else {
			at.publish(ctx)
		}
	}
}

// answer is what a call was answered with.
type answer struct {
	Code      string
	Epoch     uint64
	Number    uint64
	Duplicate bool
}

// claim claims the stream when it is free, and waits a little when it is not.
func (w *writing) claim(ctx context.Context) {
	fresh := rand.Text()
	status, got, err := w.call(ctx, "fence", map[string]any{"new_token": fresh, "active": true, "lease_seconds": w.Lease})
	if err != nil || status != http.StatusOK {
		pause(ctx, time.Duration(50+random.IntN(150))*time.Millisecond)
		return
	}
	w.token, w.epoch = fresh, got.Epoch
	w.tell.tell(Line{Did: "claimed", Writer: w.Number, Epoch: w.epoch})
}

// publish publishes one event, again and again until it is answered.
func (w *writing) publish(ctx context.Context) {
	w.n++
	ev, err := w.event()
	if err != nil {
		panic(err) // a bug: the key is one
	}
	for ctx.Err() == nil {
		status, got, err := w.call(ctx, "frames", map[string]any{"token": w.token, "event": json.RawMessage(ev.Raw())})
		line := Line{Writer: w.Number, Epoch: w.epoch, ID: ev.ID}
		switch {
		case err != nil || status >= 500 || status == http.StatusUnauthorized:
			pause(ctx, 50*time.Millisecond)
			continue
		case status == http.StatusOK && got.Duplicate:
			line.Did = "duplicate"
		case status == http.StatusOK:
			line.Did, line.Number = "admitted", got.Number
		default:
			line.Did, w.token = "refused", ""
		}
		w.tell.tell(line)
		break
	}
	if w.token != "" && w.Revoke > 0 && random.IntN(w.Revoke) == 0 {
		w.revoke(ctx)
	}
}

func (w *writing) revoke(ctx context.Context) {
	status, _, err := w.call(ctx, "fence", map[string]any{"expected_token": w.token, "new_token": w.token, "active": false})
	if err == nil && status == http.StatusOK {
		w.tell.tell(Line{Did: "revoked", Writer: w.Number, Epoch: w.epoch})
	}
	w.token = ""
}

func (w *writing) event() (*wire.Event, error) {
	text, err := json.Marshal(Content{Writer: w.Number, Epoch: w.epoch, Serial: w.n})
	if err != nil {
		return nil, err
	}
	ev := nostr.Event{Kind: 1, CreatedAt: nostr.Now(), Content: string(text), Tags: nostr.Tags{{"salt", rand.Text()}}}
	err = ev.Sign(w.Key)
	return wire.NewEvent(ev), err
}

// call makes one call at one of the relays.
func (w *writing) call(ctx context.Context, what string, body any) (status int, got answer, err error) {
	url := w.URLs[random.IntN(len(w.URLs))] + "/api/publishers/" + w.Stream + "/" + what
	raw, err := json.Marshal(body)
	if err != nil {
		return 0, got, err
	}
	header, err := nip98.Header(w.Key, http.MethodPost, url, raw, time.Now())
	if err != nil {
		return 0, got, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		return 0, got, err
	}
	r.Header.Set("Authorization", header)
	r.Header.Set("Content-Type", "application/json")
	resp, err := w.http.Do(r)
	if err != nil {
		return 0, got, err
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return 0, got, err
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return 0, got, fmt.Errorf("answer %q: %w", text, err)
	}
	return resp.StatusCode, got, nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
