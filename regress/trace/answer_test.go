package trace_test

import (
	"strings"
	"testing"

	"fencepost/regress/trace"
	"fencepost/relay/wire"
)

func TestEveryMessageHasItsAnswer(t *testing.T) {
	t.Parallel()
	publish := string(wire.AppendEventMessage(nil, ev1))
	authenticate := string(wire.AppendAuthMessage(nil, ev2))
	ok := func(id string) step { return got(string(wire.AppendOK(nil, id, true, wire.Reason{}))) }
	check(t, []row{
		{"one OK an EVENT", trace.Options{}, []step{sent(publish), ok(ev1.ID), sent(publish), ok(ev1.ID)}, ""},
		{"one OK an AUTH", trace.Options{}, []step{sent(authenticate), ok(ev2.ID)}, ""},
		{"no OK", trace.Options{}, []step{sent(publish)}, trace.MissingAnswer},
		{"no OK for AUTH", trace.Options{}, []step{sent(authenticate)}, trace.MissingAnswer},
		{"two OK", trace.Options{}, []step{sent(publish), ok(ev1.ID), ok(ev1.ID)}, trace.UnexpectedAnswer},
		{"an event that cannot be decoded", trace.Options{}, []step{
			sent(`["EVENT",{"id":"abc","kind":-1}]`), ok("abc"),
		}, ""},
		{"an event that cannot be decoded has no OK", trace.Options{}, []step{
			sent(`["EVENT",{"id":"abc","kind":-1}]`),
		}, trace.MissingAnswer},
		{"a count", trace.Options{}, []step{sent(count), got(counted)}, ""},
		{"a refused count", trace.Options{}, []step{sent(count), got(closed)}, ""},
		{"no count", trace.Options{}, []step{sent(count)}, trace.MissingAnswer},
		{"two counts", trace.Options{}, []step{sent(count), got(counted), got(counted)}, trace.UnexpectedAnswer},
		{"a count that cannot be decoded", trace.Options{}, []step{sent(`["COUNT","x"]`), got(closed)}, ""},
		{"a refused count beside a subscription", trace.Options{}, []step{
			sent(req), got(eose), sent(count), got(closed), event(ev1),
		}, ""},
		{"a CLOSE that cannot be decoded", trace.Options{}, []step{
			sent(req), got(eose), sent(`["CLOSE","x",1]`), got(closed),
		}, ""},
		{"an event after its CLOSED", trace.Options{}, []step{
			sent(req), got(eose), sent(`["CLOSE","x",1]`), got(closed), event(ev1),
		}, trace.AfterClosed},
		{"a second CLOSED for it", trace.Options{}, []step{
			sent(req), got(eose), sent(`["CLOSE","x",1]`), got(closed), got(closed),
		}, trace.ForeignClosed},
		{"a subscription id that is too long", trace.Options{}, []step{
			sent(`["REQ","` + strings.Repeat("x", 65) + `",{}]`), got(`["CLOSED","` + strings.Repeat("x", 64) + `…","invalid: id"]`),
		}, ""},
		{"garbage", trace.Options{}, []step{sent(`{`), got(`["NOTICE","invalid: what"]`)}, ""},
	})
}
