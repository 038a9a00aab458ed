package access

import (
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A claim with a bound has as many slots as it has uses. Each is a scope of its own,
// which the one join that takes it names and rests on: so a use is taken once,
// and joins hinder each other only where they take the same.

const slotPrefix = "claim:"

// errNoSlot cannot happen: every use but those without a slot has taken one.
var errNoSlot = errors.New("a claim has uses left and none of them is free")

func slotOf(code string, n int) string { return slotPrefix + strconv.Itoa(n) + ":" + code }

// slotted returns the slot that a scope is of; ok is false for any other scope.
func slotted(scope string) (code string, n int, ok bool) {
	rest, ok := strings.CutPrefix(scope, slotPrefix)
	if !ok {
		return "", 0, false
	}
	number, code, ok := strings.Cut(rest, ":")
	n, err := strconv.Atoi(number)
	return code, n, ok && err == nil
}

// freeSlot returns the scope of a free slot of a claim that has uses left. Which
// one depends on the id of the request and on how many are taken, so that two that
// have met do not meet again.
func (s *state) freeSlot(code string, c *claim, id string) (scope string, err error) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // it never fails
	random := rand.New(rand.NewPCG(h.Sum64(), uint64(c.used)))
	const tries = 16
	var n int
	for range tries {
		if n = random.IntN(c.uses); !c.isTaken(n) {
			return slotOf(code, n), nil
		}
	}
	for range c.uses { // nearly all are taken
		if n = (n + 1) % c.uses; !c.isTaken(n) {
			return slotOf(code, n), nil
		}
	}
	return "", errNoSlot
}

func (c *claim) isTaken(n int) bool {
	_, taken := c.taken[n]
	return taken
}
