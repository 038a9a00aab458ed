package handlers_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/handlers"
)

// It does what context.WithTimeout does, whether Done is asked for or not.
func TestBudgetsContextIsAnOrdinaryOne(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(context.Context, time.Duration) (context.Context, context.CancelFunc){
		"ours": handlers.Bounded, "the standard library's": context.WithTimeout,
	}
	for name, bounded := range kinds {
		for _, asked := range []bool{false, true} {
			within := func(f func(t *testing.T, ctx context.Context, cut, end context.CancelFunc)) {
				t.Helper()
				synctest.Test(t, func(t *testing.T) {
					query, cut := context.WithCancel(context.WithValue(t.Context(), key{}, name))
					defer cut()
					ctx, end := bounded(query, time.Second)
					defer end()
					if asked {
						require.NotNil(t, ctx.Done())
					}
					require.NoError(t, ctx.Err())
					require.Equal(t, name, ctx.Value(key{}))
					at, ok := ctx.Deadline()
					require.True(t, ok)
					require.Equal(t, time.Second, time.Until(at))
					f(t, ctx, cut, end)
				})
			}
			within(func(t *testing.T, ctx context.Context, _, _ context.CancelFunc) {
				<-time.After(time.Second)
				synctest.Wait()
				require.Equal(t, context.DeadlineExceeded, ctx.Err())
				<-ctx.Done()
			})
			within(func(t *testing.T, ctx context.Context, cut, _ context.CancelFunc) {
				cut()
				require.Equal(t, context.Canceled, ctx.Err())
				<-ctx.Done()
			})
			within(func(t *testing.T, ctx context.Context, _, end context.CancelFunc) {
				end()
				require.Equal(t, context.Canceled, ctx.Err())
				<-ctx.Done()
			})
			within(func(t *testing.T, ctx context.Context, _, _ context.CancelFunc) {
				child, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				<-child.Done()
				require.Equal(t, context.DeadlineExceeded, child.Err())
				require.Equal(t, context.DeadlineExceeded, ctx.Err())
			})
		}
	}
}

type key struct{}
