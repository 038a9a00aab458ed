// Package storm holds the storm of regress/race against the whole relay in one
// process, so that the race detector sees both sides. It has no code of its own
// beside the test, which names packages that regress/race must not name.
package storm
