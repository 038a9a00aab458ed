package trace_test

import (
	"testing"

	"fencepost/regress/trace"
)

func TestFramesBelongToTheCurrentGeneration(t *testing.T) {
	t.Parallel()
	check(t, []row{
		{"opened, answered, replaced, closed", trace.Options{}, []step{
			sent(req), event(ev1), got(eose), event(ev2), sent(reqTwo), event(other), got(eose), sent(closing),
		}, ""},
		{"event of the older generation after the newer was read", trace.Options{}, []step{
			sent(req), got(eose), sent(reqTwo), event(ev1), got(eose),
		}, trace.Stale},
		{"event that nobody asked for", trace.Options{}, []step{
			sent(req), got(eose), event(alien),
		}, trace.NotMatching},
		{"event after CLOSED", trace.Options{}, []step{
			sent(req), got(eose), got(closed), event(ev1),
		}, trace.AfterClosed},
		{"EOSE after CLOSED", trace.Options{}, []step{sent(req), got(closed), got(eose)}, trace.AfterClosed},
		{"event after CLOSE", trace.Options{}, []step{
			sent(req), got(eose), sent(closing), event(ev1),
		}, trace.AfterClose},
		{"EOSE after CLOSE", trace.Options{}, []step{sent(req), sent(closing), got(eose)}, trace.AfterClose},
		{"event for an id never opened", trace.Options{}, []step{event(ev1)}, trace.NeverOpened},
		{"event for an id only closed", trace.Options{}, []step{sent(closing), event(ev1)}, trace.NeverOpened},
		{"EOSE for an id never opened", trace.Options{}, []step{got(eose)}, trace.NeverOpened},
		{"CLOSED for an id never opened", trace.Options{}, []step{got(closed)}, trace.NeverOpened},
		{"CLOSED after CLOSE", trace.Options{}, []step{
			sent(req), got(eose), sent(closing), got(closed),
		}, trace.ForeignClosed},
		{"CLOSED twice", trace.Options{}, []step{sent(req), got(closed), got(closed)}, trace.ForeignClosed},
		{"refused REQ", trace.Options{}, []step{sent(`["REQ","x",null]`), got(closed)}, ""},
		{"refused REQ that begins all the same", trace.Options{}, []step{
			sent(`["REQ","x",null]`), event(ev1), got(closed),
		}, trace.NotMatching},
		{"refused REQ without an answer", trace.Options{}, []step{sent(`["REQ","x",null]`)}, trace.MissingAnswer},
		{"a new REQ after CLOSED", trace.Options{}, []step{
			sent(req), got(closed), sent(req), event(ev1), got(eose),
		}, ""},
		{"a frame that is no message", trace.Options{}, []step{got(`["EOSE"`)}, trace.Unreadable},
		{"an event that is not JSON of an event", trace.Options{}, []step{
			sent(req), got(eose), got(`["EVENT","x",{}]`),
		}, trace.Unreadable},
		{"notices and challenges are free", trace.Options{}, []step{
			got(`["NOTICE","hello"]`), got(`["AUTH","challenge"]`),
		}, ""},
	})
}

func TestClosedAcknowledgesCloseWhereAgreed(t *testing.T) {
	t.Parallel()
	ack := trace.Options{CloseAck: true}
	check(t, []row{
		{"CLOSED is the last frame", ack, []step{sent(req), got(eose), sent(closing), got(closed)}, ""},
		{"no CLOSED", ack, []step{sent(req), got(eose), sent(closing)}, trace.MissingAnswer},
		{"two CLOSED", ack, []step{sent(req), sent(closing), got(closed), got(closed)}, trace.ForeignClosed},
		{"event after it", ack, []step{sent(req), sent(closing), got(closed), event(ev1)}, trace.AfterClosed},
		{"a newer REQ makes it void", ack, []step{sent(req), sent(closing), sent(req), got(eose)}, ""},
		{"nothing was open", ack, []step{sent(closing)}, ""},
	})
}

func TestFramesWhileAMessageIsBeingReadMayBeOfEither(t *testing.T) {
	t.Parallel()
	check(t, []row{
		{"older before newer", trace.Options{}, []step{
			sent(req), got(eose), reading(reqTwo), event(ev1), event(other), got(eose), read(), event(other),
		}, trace.Duplicate},
		{"older after newer", trace.Options{}, []step{
			sent(req), got(eose), reading(reqTwo), event(other), event(ev1), read(), got(eose),
		}, trace.Stale},
		{"older after the newer one's EOSE", trace.Options{}, []step{
			sent(req), got(eose), reading(reqTwo), got(eose), event(ev1), read(),
		}, trace.Stale},
		{"neither", trace.Options{}, []step{
			sent(req), got(eose), reading(reqTwo), event(alien), read(), got(eose),
		}, trace.NotMatching},
		{"an event of either counts for both", trace.Options{Commits: true}, []step{
			sent(req), got(eose), reading(reqAll), committed(1, ev1), event(ev1), read(), got(eose),
		}, ""},
		{"an event of either may come again", trace.Options{}, []step{
			sent(req), got(eose), reading(reqAll), event(ev1), read(), event(ev1), got(eose),
		}, ""},
		{"and not a third time", trace.Options{}, []step{
			sent(req), got(eose), reading(reqAll), event(ev1), event(ev1), event(ev1), read(), got(eose),
		}, trace.Duplicate},
		{"an EOSE of either counts for both", trace.Options{}, []step{
			sent(req), reading(reqTwo), got(eose), read(),
		}, ""},
		{"and may come again", trace.Options{}, []step{
			sent(req), reading(reqTwo), got(eose), got(eose), read(), event(other),
		}, ""},
		{"and not a third time", trace.Options{}, []step{
			sent(req), reading(reqTwo), got(eose), got(eose), got(eose), read(),
		}, trace.SecondEOSE},
		{"a CLOSED of either", trace.Options{}, []step{
			sent(req), got(eose), reading(reqTwo), got(closed), read(),
		}, ""},
		{"a CLOSED of the newer only", trace.Options{}, []step{
			sent(req), got(closed), reading(reqTwo), got(closed), read(), event(other),
		}, trace.AfterClosed},
		{"frames while CLOSE is being read", trace.Options{}, []step{
			sent(req), got(eose), reading(closing), event(ev1), read(),
		}, ""},
		{"frames after CLOSE was read", trace.Options{}, []step{
			sent(req), got(eose), reading(closing), read(), event(ev1),
		}, trace.AfterClose},
	})
}
