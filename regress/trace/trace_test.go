package trace_test

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/regress/trace"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// step tells a trace one thing.
type step func(*trace.Trace)

func sent(msg string) step    { return func(t *trace.Trace) { t.Sent([]byte(msg)) } }
func reading(msg string) step { return func(t *trace.Trace) { t.Reading([]byte(msg)) } }
func read() step              { return func(t *trace.Trace) { t.Read() } }
func got(frame string) step   { return func(t *trace.Trace) { t.Got([]byte(frame)) } }
func event(ev *wire.Event) step {
	return got(string(wire.AppendEvent(nil, "x", ev)))
}

func committed(at store.Position, ev *wire.Event) step {
	return func(t *trace.Trace) { t.Committed(at, ev) }
}

// Events of kind 1 at successive seconds, and others that share their times.
var (
	ev1   = storetest.Draft{Key: 1, At: 101, Kind: 1}.Event()
	ev2   = storetest.Draft{Key: 1, At: 102, Kind: 1}.Event()
	ev3   = storetest.Draft{Key: 1, At: 103, Kind: 1}.Event()
	other = storetest.Draft{Key: 1, At: 104, Kind: 2}.Event()
	alien = storetest.Draft{Key: 1, At: 104, Kind: 3}.Event()
	twinA = storetest.Draft{Key: 1, At: 105, Kind: 1, Content: "a"}.Event()
	twinB = storetest.Draft{Key: 1, At: 105, Kind: 1, Content: "b"}.Event()
	first = storetest.Draft{Key: 1, At: 106, Kind: 10001}.Event()
	newer = storetest.Draft{Key: 1, At: 107, Kind: 10001}.Event()
	brief = storetest.Draft{Key: 1, At: 108, Kind: 20001}.Event()
	dying = storetest.Draft{Key: 1, At: 109, Kind: 1, Tags: nostr.Tags{{"expiration", "200"}}}.Event()

	deletion = storetest.Draft{Key: 1, At: 110, Kind: 5, Tags: nostr.Tags{{"e", ev1.ID}}}.Event()
	burial   = storetest.Draft{Key: 1, At: 110, Kind: 5, Tags: nostr.Tags{{"a", "10001:" + storetest.Key(1) + ":"}}}.Event()
)

// lowHigh returns the twins, the one with the lower id first.
func lowHigh() (low, high *wire.Event) {
	if twinA.ID < twinB.ID {
		return twinA, twinB
	}
	return twinB, twinA
}

const (
	req     = `["REQ","x",{"kinds":[1]}]`
	reqTwo  = `["REQ","x",{"kinds":[2]}]`
	reqAll  = `["REQ","x",{}]`
	closing = `["CLOSE","x"]`
	eose    = `["EOSE","x",["finish"]]`
	closed  = `["CLOSED","x","error: gone"]`
	count   = `["COUNT","x",{"kinds":[1]}]`
	counted = `["COUNT","x",{"count":3}]`
)

func settle(o trace.Options, steps ...step) []trace.Violation {
	t := trace.New(o)
	for _, s := range steps {
		s(t)
	}
	return t.Settled()
}

func rules(found []trace.Violation) []trace.Rule {
	var out []trace.Rule
	for _, v := range found {
		out = append(out, v.Rule)
	}
	return out
}

type row struct {
	name    string
	options trace.Options
	steps   []step
	want    trace.Rule // "" for a good trace
}

func check(t *testing.T, rows []row) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			found := rules(settle(r.options, r.steps...))
			if r.want == "" {
				require.Empty(t, found)
				return
			}
			require.Equal(t, []trace.Rule{r.want}, found)
		})
	}
}

func TestTranscriptShowsBothSidesAndViolationsPointIntoIt(t *testing.T) {
	t.Parallel()
	tr := trace.New(trace.Options{})
	tr.Sent([]byte(req))
	tr.Got([]byte(eose))
	tr.Got([]byte(eose))
	require.Equal(t, strings.Join([]string{"> " + req, "< " + eose, "< " + eose}, "\n"), tr.Transcript())
	found := tr.Violations()
	require.Len(t, found, 1)
	require.Equal(t, 3, found[0].Line)
	require.Equal(t, `line 3: second EOSE: "x" `, found[0].String())
}

func TestSettledCanBeAskedAgainLater(t *testing.T) {
	t.Parallel()
	tr := trace.New(trace.Options{})
	tr.Sent([]byte(req))
	require.Equal(t, []trace.Rule{trace.MissingAnswer}, rules(tr.Settled()))
	tr.Got([]byte(eose))
	require.Empty(t, tr.Settled())
}

func TestNothingIsOwedOnceTheConnectionHasEnded(t *testing.T) {
	t.Parallel()
	tr := trace.New(trace.Options{})
	tr.Sent([]byte(req))
	tr.Sent(wire.AppendEventMessage(nil, ev1))
	tr.Ended()
	require.Empty(t, tr.Settled())
}
