//go:build !nopause

package explore_test

import (
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
	"fencepost/regress/harness"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// scenario is a row of the table: what is there, and what happens at once.
type scenario struct {
	name    string
	points  []pause.Point // each of them must be reached by some schedule
	options harness.Options
	late    bool // the store answers queries that were given up
	slow    bool // the relay may end a subscription because its client is slow
	outside bool // an outside decision is asked about every event; see world.elsewhere
	trims   bool // the log loses its beginning; see world.retention
	byID    bool // revocations are carried out by a cutter without its fence
	long    bool // many schedules: a sample of them in a short run
	reduced bool // leave out equal schedules; see touched for when it may be set
	given   func(w *world) []explore.Operation
}

// The points of the operations, all of them.
var (
	reqPoints = []pause.Point{
		pause.ReqReserved, pause.ReqStarted, pause.ReqIndexed, pause.ReqSnapshot, pause.ReqBegun,
		pause.ReqPage, pause.ReqReplayed,
	}
	// reqSteps are those between which another operation makes a difference.
	reqSteps = []pause.Point{
		pause.ReqReserved, pause.ReqStarted, pause.ReqIndexed, pause.ReqBegun, pause.ReqReplayed,
	}
	fanoutPoints = []pause.Point{pause.FanoutRead, pause.FanoutBegun, pause.FanoutSelected, pause.FanoutDecided}
	// fanoutSteps leave out FanoutRead: between it and FanoutBegun the follower only
	// publishes begun, which is a step for those who read it. The seam is where they do
	// (G6, G8); who closes, replaces or evicts does not.
	fanoutSteps = fanoutPoints[1:]
	closePoints = []pause.Point{pause.CloseRead, pause.CloseReleased}
)

func points(lists ...[]pause.Point) []pause.Point { return slices.Concat(lists...) }

func only(list ...pause.Point) []pause.Point { return list }

// What is published and asked for. Apples and pears are disjoint, so a frame
// tells which filter it was sent for.
const (
	apples = `{"kinds":[1]}`
	pears  = `{"kinds":[2]}`
	fruit  = `{"kinds":[1,2]}`
	names  = `{"kinds":[0]}`
	sparks = `{"kinds":[20001]}`

	reqApples  = `["REQ","x",` + apples + `]`
	reqPears   = `["REQ","x",` + pears + `]`
	reqFruit   = `["REQ","x",` + fruit + `]`
	reqNames   = `["REQ","x",` + names + `]`
	reqSparks  = `["REQ","x",` + sparks + `]`
	reqRefused = `["REQ","x",{"search":"worm"}]`
	closeX     = `["CLOSE","x"]`
)

// The events that have numbers, below 8. They never change, so they are made once and
// not for every schedule, in which their hashes would take a twentieth of the time.
var (
	appleEvents   = numbered(storetest.Draft{Key: 1, Kind: 1, Content: "apple"})
	pearEvents    = numbered(storetest.Draft{Key: 1, Kind: 2, Content: "pear"})
	profileEvents = numbered(storetest.Draft{Key: 1, Kind: 0, Content: "profile"})
	sparkEvents   = numbered(storetest.Draft{Key: 1, Kind: 20001, Content: "spark"})
	secretEvents  = numbered(storetest.Draft{Key: 1, Kind: 9, Tags: nostr.Tags{{"h", "club"}}, Content: "secret"})
)

func numbered(d storetest.Draft) (list [8]*wire.Event) {
	for n := range list {
		d.At = int64(100 + n)
		list[n] = d.Event()
	}
	return list
}

func apple(n int) *wire.Event { return appleEvents[n] }

func pear(n int) *wire.Event { return pearEvents[n] }

// profile is a replaceable event: version n replaces the lower ones.
func profile(n int) *wire.Event { return profileEvents[n] }

// spark is an ephemeral event.
func spark(n int) *wire.Event { return sparkEvents[n] }

// secret is event number n of the club.
func secret(n int) *wire.Event { return secretEvents[n] }

func deletion(of *wire.Event) *wire.Event {
	return storetest.Draft{Key: 1, Kind: 5, At: 200, Tags: nostr.Tags{{"e", of.ID}}}.Event()
}

// stored commits events that nobody will get live.
func (w *world) stored(events ...*wire.Event) {
	for _, ev := range events {
		w.commit(ev)
	}
	w.relay.Step(w.t)
}

// scenarios returns the table.
func scenarios() []scenario {
	return slices.Concat(
		replacementScenarios(), endScenarios(), evictionScenarios(),
		seamScenarios(), roomScenarios(), farScenarios(), revocationScenarios(), decisionScenarios(), feedScenarios(), negScenarios(),
	)
}
