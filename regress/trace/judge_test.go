package trace_test

import (
	"testing"

	"fencepost/regress/trace"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// ruling is a reader that may see events up to a position, from a moment on none.
type ruling struct {
	upTo   store.Position
	closed bool
}

func (r *ruling) May(at store.Position, _ *wire.Event) bool  { return !r.closed && at <= r.upTo }
func (r *ruling) Owed(at store.Position, _ *wire.Event) bool { return !r.closed && at <= r.upTo }

func TestWhatTheReaderMayNotSeeMustNotComeAndIsNotOwed(t *testing.T) {
	t.Parallel()
	judged := func(upTo store.Position) (trace.Options, step) {
		r := &ruling{upTo: upTo}
		return trace.Options{Commits: true, Judge: r}, func(*trace.Trace) { r.closed = true }
	}
	open, shut := judged(2)
	early, shutEarly := judged(2)
	above, _ := judged(1)
	owed, _ := judged(1)
	twice, _ := judged(2)
	check(t, []row{
		{"taken before", open, []step{
			sent(req), got(eose), committed(1, ev1), committed(2, ev2), event(ev1), event(ev2), shut,
		}, ""},
		{"taken after", early, []step{
			sent(req), got(eose), committed(1, ev1), committed(2, ev2), event(ev1), shutEarly, event(ev2),
		}, trace.Forbidden},
		{"above it", above, []step{
			sent(req), got(eose), committed(1, ev1), committed(2, ev2), event(ev1), event(ev2),
		}, trace.Forbidden},
		{"what stands below is owed", owed, []step{
			sent(req), got(eose), committed(1, ev1), committed(2, ev2),
		}, trace.MissingEvent},
		{"one of several commits is enough", twice, []step{
			committed(2, brief), sent(reqAll), got(eose), committed(3, brief), event(brief),
		}, ""},
	})
}
