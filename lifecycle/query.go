package lifecycle

import "context"

// Query runs fn in the connection's group once one of its query places is free:
// a slow query holds up later queries of its own connection and nothing else.
// It never blocks. ctx ends with the connection, as those of Conn.Context and
// Handle.Context do. If it ends first, fn runs without a place and finds it ended.
// Query returns false if the connection is over.
func (c *Conn) Query(ctx context.Context, name string, fn func(ctx context.Context)) bool {
	return c.group.Go(name, func(context.Context) {
		select {
		case c.queries <- struct{}{}:
			defer func() { <-c.queries }()
		case <-ctx.Done():
		}
		deepenQuery(false)
		fn(ctx)
	})
}
