//go:build race

package index_test

// raceEnabled: the race detector makes sync.Pool forget at random.
const raceEnabled = true
