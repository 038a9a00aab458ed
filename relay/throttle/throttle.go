package throttle

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Every is the time in which the relay logs one line of a kind.
const Every = 5 * time.Second

// Handler is a slog.Handler that limits another one. Make it with New.
type Handler struct {
	// Set at construction, never changed.
	next slog.Handler
	held *held
}

// New returns a handler that hands on to next one record of a kind in the time every. The
// handlers that WithAttrs and WithGroup make of it share its limit.
func New(next slog.Handler, every time.Duration) *Handler {
	return &Handler{next: next, held: &held{every: every, kinds: make(map[kind]*window)}}
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{next: h.next.WithAttrs(attrs), held: h.held}
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{next: h.next.WithGroup(name), held: h.held}
}

// Handle implements slog.Handler. It returns the error of the handler behind it, nil for
// a record that is held.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && h.held.hold(ctx, h.next, &r) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// kind is what makes two records alike.
type kind struct {
	level   slog.Level
	message string
}

// window is the time after a record of one kind that was handed on.
type window struct {
	newest slog.Record                    // of those that came in it
	tell   func(newest slog.Record) error // hands it on
	came   int                            // how many
}

// held is what all handlers of one New share.
type held struct {
	// Set at construction, never changed.
	every time.Duration

	mu sync.Mutex // guards the field below; nothing is logged under it
	// +checklocks:mu
	kinds map[kind]*window // those with a window that is open
}

// hold keeps r if one of its kind was handed on a short while ago.
func (h *held) hold(ctx context.Context, next slog.Handler, r *slog.Record) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := kind{r.Level, r.Message}
	w := h.kinds[k]
	if w == nil {
		h.kinds[k] = &window{}
		time.AfterFunc(h.every, func() { h.over(k) })
		return false
	}
	w.newest = r.Clone()
	w.tell = func(newest slog.Record) error { return next.Handle(context.WithoutCancel(ctx), newest) }
	w.came++
	return true
}

// over hands on what the window of k holds, which begins the next one.
func (h *held) over(k kind) {
	w := h.take(k)
	if w.came == 0 {
		return
	}
	if w.came > 1 {
		w.newest.AddAttrs(slog.Int("left_out", w.came-1))
	}
	_ = w.tell(w.newest) // as slog.Logger does, which has nobody to tell
}

// take returns what the window of k holds and opens another one if that is something.
func (h *held) take(k kind) window {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := *h.kinds[k]
	if w.came == 0 {
		delete(h.kinds, k)
		return w
	}
	*h.kinds[k] = window{}
	time.AfterFunc(h.every, func() { h.over(k) })
	return w
}
