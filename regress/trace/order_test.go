package trace_test

import (
	"testing"

	"fencepost/regress/trace"
	"fencepost/relay/wire"
)

func TestStoredThenEOSEThenLive(t *testing.T) {
	t.Parallel()
	low, high := lowHigh()
	check(t, []row{
		{"newest first, lowest id first, then by position", trace.Options{Commits: true}, []step{
			committed(1, high), committed(2, low), committed(3, ev2), sent(req),
			event(low), event(high), event(ev2), got(eose),
			committed(4, ev3), committed(5, ev1), event(ev3), event(ev1),
		}, ""},
		{"two EOSE", trace.Options{}, []step{sent(req), got(eose), got(eose)}, trace.SecondEOSE},
		{"no EOSE", trace.Options{}, []step{sent(req), event(ev1)}, trace.MissingAnswer},
		{"oldest first", trace.Options{}, []step{sent(req), event(ev1), event(ev2), got(eose)}, trace.StoredOrder},
		{"highest id first", trace.Options{}, []step{sent(req), event(high), event(low), got(eose)}, trace.StoredOrder},
		{"EOSE before the last stored event", trace.Options{Commits: true}, []step{
			committed(1, ev1), committed(2, ev2), sent(req), event(ev2), got(eose), event(ev1),
		}, trace.StoredAfterEOSE},
		{"live out of position order", trace.Options{Commits: true}, []step{
			sent(req), got(eose), committed(1, ev1), committed(2, ev2), event(ev2), event(ev1),
		}, trace.LiveOrder},
		{"stored twice", trace.Options{}, []step{sent(req), event(ev1), event(ev1), got(eose)}, trace.Duplicate},
		{"stored and live", trace.Options{}, []step{sent(req), event(ev1), got(eose), event(ev1)}, trace.Duplicate},
		{"live twice", trace.Options{}, []step{sent(req), got(eose), event(ev1), event(ev1)}, trace.Duplicate},
		{"once in each generation", trace.Options{}, []step{
			sent(req), event(ev1), got(eose), sent(req), event(ev1), got(eose),
		}, ""},
		{"an ephemeral event as often as it was committed", trace.Options{Commits: true}, []step{
			sent(reqAll), got(eose), committed(1, brief), event(brief), committed(2, brief), event(brief),
		}, ""},
		{"an ephemeral event once too often", trace.Options{Commits: true}, []step{
			sent(reqAll), got(eose), committed(1, brief), event(brief), event(brief),
		}, trace.Duplicate},
		{"altered", trace.Options{Commits: true}, []step{
			committed(1, ev1), sent(req), got(altered("x")), got(eose),
		}, trace.Altered},
		{"invented", trace.Options{Commits: true}, []step{sent(req), event(ev1), got(eose)}, trace.NeverCommitted},
	})
}

// altered returns a frame for ev1 with another content.
func altered(sub string) string {
	ev := ev1.Event
	ev.Content = "altered"
	return string(wire.AppendEvent(nil, sub, wire.NewEvent(ev)))
}

func TestEveryCommittedEventIsOwedToAnOpenGeneration(t *testing.T) {
	t.Parallel()
	all := trace.Options{Commits: true}
	const (
		limited   = `["REQ","x",{"kinds":[1],"limit":1}]`
		limitZero = `["REQ","x",{"kinds":[1],"limit":0}]`
		more      = `["EOSE","x",["more"]]`
		bare      = `["EOSE","x"]`
	)
	check(t, []row{
		{"a stored event is missing", all, []step{committed(1, ev1), sent(req), got(eose)}, trace.MissingEvent},
		{"a live event is missing", all, []step{sent(req), got(eose), committed(1, ev1)}, trace.MissingEvent},
		{"an event at the seam is missing", all, []step{sent(req), committed(1, ev1), got(eose)}, trace.MissingEvent},
		{"not asked for", all, []step{committed(1, other), sent(req), got(eose)}, ""},
		{"closed by the client", all, []step{sent(req), got(eose), committed(1, ev1), sent(closing)}, ""},
		{"closed by the relay", all, []step{sent(req), got(eose), committed(1, ev1), got(closed)}, ""},
		{"replaced by the client", all, []step{
			sent(req), got(eose), committed(1, ev1), sent(reqTwo), got(eose),
		}, ""},
		{"hidden by a limit, as the hint says", all, []step{
			committed(1, ev1), committed(2, ev2), sent(limited), event(ev2), got(more),
		}, ""},
		{"the hint says that nothing is hidden", all, []step{
			committed(1, ev1), committed(2, ev2), sent(limited), event(ev2), got(eose),
		}, trace.MissingEvent},
		{"hidden by a limit, without a hint", all, []step{
			committed(1, ev1), committed(2, ev2), sent(limited), event(ev2), got(bare),
		}, ""},
		{"limit 0", all, []step{committed(1, ev1), sent(limitZero), got(eose)}, ""},
		{"a limit hides no live event", all, []step{
			sent(limitZero), got(eose), committed(1, ev1),
		}, trace.MissingEvent},
		{"superseded", all, []step{
			committed(1, first), committed(2, newer), sent(reqAll), event(newer), got(eose),
		}, ""},
		{"the version that stays is missing", all, []step{
			committed(1, first), committed(2, newer), sent(reqAll), got(eose),
		}, trace.MissingEvent},
		{"deleted by id", all, []step{
			committed(1, ev1), committed(2, deletion), sent(req), got(eose),
		}, ""},
		{"deleted by address", all, []step{
			committed(1, newer), committed(2, burial), sent(`["REQ","x",{"kinds":[10001]}]`), got(eose),
		}, ""},
		{"expired, perhaps", all, []step{committed(1, dying), sent(req), got(eose)}, ""},
		{"an ephemeral event from before", all, []step{committed(1, brief), sent(reqAll), got(eose)}, ""},
		{"an ephemeral event from after", all, []step{sent(reqAll), got(eose), committed(1, brief)}, trace.MissingEvent},
	})
}
