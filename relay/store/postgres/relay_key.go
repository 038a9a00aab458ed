package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const (
	// Whoever comes second waits for the first one's commit, by the primary key.
	sqlMakeKey = `INSERT INTO relay_key (secret) VALUES ($1) ON CONFLICT DO NOTHING`
	sqlKey     = `SELECT secret FROM relay_key`
)

// RelayKey returns the relay's own secret key, 32 bytes, which all replicas share. When
// there is none, draft becomes it; of several drafts at once one does, and every caller
// gets that. Without a draft it only looks, and returns nil when there is no key. It
// blocks until the key is durable.
func (s *Store) RelayKey(ctx context.Context, draft []byte) (secret []byte, err error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if draft != nil {
		if _, err := s.pools.short.Exec(ctx, sqlMakeKey, draft); err != nil {
			return nil, fmt.Errorf("keep the relay's key: %w", err)
		}
	}
	err = s.pools.short.QueryRow(ctx, sqlKey).Scan(&secret)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return secret, s.failed(ctx, err)
}
