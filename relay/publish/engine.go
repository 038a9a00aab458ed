package publish

import (
	"context"

	"fencepost/lifecycle/fence"
	"fencepost/relay/wire"
)

// Engine keeps fences. A refusal by a fence is a *fence.Error; any other error is internal
// and leaves open whether the call took effect. All methods may block.
type Engine interface {
	// Set claims, renews or revokes, and returns the fence's epoch.
	Set(ctx context.Context, s fence.Stream, c fence.Change) (epoch uint64, err error)
	// Publish admits ev under a token and returns when it is delivered. keys are what its
	// author is known by beside the event.
	Publish(ctx context.Context, s fence.Stream, t fence.Token, keys []string, ev *wire.Event) (fence.Receipt, error)
	// Look returns the fence.
	Look(ctx context.Context, s fence.Stream) (fence.View, error)
}
