package lifecycle_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// descend takes about 12 KiB of stack with n = 40, as a query of the store does.
func descend(n int) byte {
	var room [256]byte
	room[n] = byte(n)
	if n > 0 {
		return descend(n-1) + room[n]
	}
	return room[0]
}

// BenchmarkQuery is the start of a query whose calls go deep.
func BenchmarkQuery(b *testing.B) {
	c := newConn(b)
	done := make(chan byte)
	for b.Loop() {
		require.True(b, c.Query(b.Context(), "query", func(context.Context) { done <- descend(40) }))
		<-done
	}
}
