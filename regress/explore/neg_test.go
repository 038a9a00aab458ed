//go:build !nopause

package explore_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/handlers"
	"fencepost/lifecycle/pause"
	"fencepost/regress/explore"
	"fencepost/regress/harness"
	"fencepost/relay/negentropy"
	"fencepost/relay/wire"
)

// negotiating lets everything here be reconciled (NIP-77).
var negotiating = harness.Options{Handlers: handlers.Limits{
	NegRecords: 100, NegSessions: 4, NegHeld: 1000, NegFrame: negentropy.MinFrame, NegIdle: time.Minute,
}}

const negClose = `["NEG-CLOSE","x"]`

// negOpen asks for a list of all that filter matches.
func negOpen(filter string) string {
	start := negentropy.NewClient(negentropy.NewSet(nil), negentropy.MinFrame).Start()
	return fmt.Sprintf(`["NEG-OPEN","x",%s,"%x"]`, filter, start)
}

// negScenarios are about negotiations, each of which its client ends.
func negScenarios() []scenario {
	return []scenario{
		{
			name:   "G4 NEG-OPEN, revocation, NEG-CLOSE, writer",
			points: points(only(pause.NegCollected, pause.ControlChanged), decidePoints), options: negotiating, long: true,
			given: func(w *world) []explore.Operation {
				a := w.guest("a")
				w.stored(secret(1), pear(1))
				return []explore.Operation{w.expulsion(member), w.follower(w.head() + 1), a.reader(negOpen(everything), negClose), a.writer(2)}
			},
		},
		{
			name: "NEG-OPEN by NEG-OPEN, NEG-CLOSE, writer", points: only(pause.NegCollected), options: negotiating,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1), pear(1))
				return []explore.Operation{a.reader(negOpen(apples), negOpen(pears), negClose), a.writer(3)}
			},
		},
		{
			name: "NEG-OPEN, disconnect, writer", points: only(pause.NegCollected, pause.ConnClosed), options: negotiating,
			given: func(w *world) []explore.Operation {
				a := w.connect("a")
				w.stored(apple(1))
				return []explore.Operation{a.reader(negOpen(apples)), a.disconnect(), a.writer(1)}
			},
		},
	}
}

// gotNegLocked checks that an answer is of the negotiation that the client believes in, and
// holds nothing that it may not see now.
func (c *client) gotNegLocked(m wire.RelayMessage) {
	f := c.talks[m.Sub]
	if f == nil {
		c.world.problem("%s: %s of a negotiation that has ended", c.name, m.Verb)
		return
	}
	if m.Verb == "NEG-ERR" {
		delete(c.talks, m.Sub)
		return
	}
	side := negentropy.NewClient(negentropy.NewSet(nil), negentropy.MinFrame)
	if _, err := side.Next(m.Message); err != nil {
		c.world.problem("%s: %v", c.name, err)
	}
	closed := c.Refuses([]*wire.Filter{wire.NewFilter(nostr.Filter{Tags: nostr.TagMap{"h": {"club"}}})}) != nil
	for _, id := range side.Need {
		text := hex.EncodeToString(id[:])
		of := slices.IndexFunc([]*wire.Event{apple(1), pear(1), secret(1)}, func(e *wire.Event) bool { return e.ID == text && f.Matches(e) })
		if of < 0 {
			c.world.problem("%s: %s, which was not asked for", c.name, text)
		}
		if closed && text == secret(1).ID {
			c.world.problem("%s: the id of a secret after the revocation", c.name)
		}
	}
}
