package index_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/lifecycle"
	"fencepost/registry/index"
	"fencepost/relay/wire"
)

// churn opens and closes subscriptions at random, each time as a new generation,
// and ends with all closed.
func churn(t *testing.T, x *index.Index, name string) {
	c := newConn(t)
	r := rand.New(rand.NewPCG(uint64(len(name)), 0))
	current := make([]*lifecycle.Handle, 40)
	for range 10 * stressRounds {
		i := r.IntN(len(current))
		if h := current[i]; h != nil {
			x.Remove(h)
			current[i] = nil
			continue
		}
		current[i] = reserve(t, c, name+strconv.Itoa(i),
			nostr.Filter{Kinds: []int{r.IntN(4)}},
			nostr.Filter{Tags: nostr.TagMap{"t": {strconv.Itoa(r.IntN(4)), "x"}}})
		x.Add(current[i])
	}
	for _, h := range current {
		if h != nil {
			x.Remove(h)
		}
	}
}

func lookups(x *index.Index, stays *lifecycle.Handle, ev *wire.Event) error {
	var dst []*lifecycle.Handle
	for range stressRounds {
		dst = x.Candidates(dst[:0], ev)
		seen := map[*lifecycle.Handle]int{}
		for _, h := range dst {
			seen[h]++
		}
		if seen[stays] != 1 || len(seen) != len(dst) {
			return errors.New("a handle is missing or a candidate twice")
		}
	}
	return nil
}
