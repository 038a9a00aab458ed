package postgres

import (
	"context"
	"time"
)

// Elapse makes leases end sooner by d.
func (s *Store) Elapse(ctx context.Context, d time.Duration) error {
	_, err := s.pools.short.Exec(ctx, `UPDATE fences SET until = until - $1::bigint * interval '1 millisecond' WHERE until IS NOT NULL`, d.Milliseconds())
	return err
}
