// Package browser looks at the relay through a real browser: the page for people,
// and a WebSocket that a page of another origin opens.
//
// It needs Chromium, whose path FENCEPOST_TEST_BROWSER names; without it the
// tests say so and are skipped. `make browser` finds it, or fails.
package browser
