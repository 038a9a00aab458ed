package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

const (
	total   = 3000          // lines
	authors = 48            // keys
	began   = 1_735_689_600 // created_at of the first event: 2025-01-01
	future  = 4_102_444_800 // an expiration that does not come soon: 2100-01-01
	step    = 900           // seconds that pass between two events at most
)

// generator makes events one after another; later ones refer to earlier ones.
type generator struct {
	random  *rand.Rand
	authors []author
	now     nostr.Timestamp
	made    []*wire.Event // in the order of creation
}

func newGenerator() *generator {
	g := &generator{random: rand.New(rand.NewPCG(7447, 1)), now: began}
	for i := range authors {
		g.authors = append(g.authors, newAuthor(i))
	}
	return g
}

// lines returns the lines of the file. Some come twice, and neighbours change
// places, as they do where several relays feed one.
func (g *generator) lines() ([][]byte, error) {
	for len(g.made) < total-total/100 {
		if err := g.next(); err != nil {
			return nil, err
		}
	}
	order := slices.Clone(g.made)
	for len(order) < total {
		order = append(order, g.made[g.random.IntN(len(g.made))])
	}
	for i := range order {
		j := min(i+g.random.IntN(12), len(order)-1)
		order[i], order[j] = order[j], order[i]
	}
	lines := make([][]byte, len(order))
	for i, e := range order {
		lines[i] = g.render(e)
	}
	return lines, nil
}

// next makes one event. In one of three cases no time passes, which makes ties.
func (g *generator) next() error {
	if g.random.IntN(3) > 0 {
		g.now += nostr.Timestamp(g.random.IntN(step))
	}
	by := g.authors[g.skewed(len(g.authors))]
	e := g.draft(by)
	if e.CreatedAt == 0 {
		e.CreatedAt = g.now
	}
	if e.Tags == nil {
		e.Tags = nostr.Tags{}
	}
	signed, err := by.sign(e)
	if err != nil {
		return fmt.Errorf("event %d: %w", len(g.made), err)
	}
	g.made = append(g.made, signed)
	return nil
}

// skewed draws below n, low numbers far more often: few authors write the most.
func (g *generator) skewed(n int) int {
	return min(g.random.IntN(n), g.random.IntN(n), g.random.IntN(n))
}

// earlier returns an event made before, nil when there is none that fits.
func (g *generator) earlier(fits func(*wire.Event) bool) *wire.Event {
	for range 50 {
		if len(g.made) == 0 {
			return nil
		}
		if e := g.made[len(g.made)-1-g.skewed(len(g.made))]; fits(e) {
			return e
		}
	}
	return nil
}

// anybody returns some author's key.
func (g *generator) anybody() string { return g.authors[g.random.IntN(len(g.authors))].pubkey }
