package lifecycle_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
)

func TestARestEndsWithItsTimeOrItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		lifecycle.Rest(ctx, 10*time.Second)
		require.Equal(t, 10*time.Second, time.Since(began))
		lifecycle.Rest(ctx, time.Hour)
		require.Equal(t, time.Minute, time.Since(began))
		lifecycle.Rest(ctx, time.Hour)
		require.Equal(t, time.Minute, time.Since(began))
	})
}
