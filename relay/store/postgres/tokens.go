package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"
)

// sqlSeen remembers a token for as long as it could be used, by the clock of the
// database: after that it is refused, remembered or not. It forgets some old ones.
const sqlSeen = `WITH old AS (
	DELETE FROM used_tokens WHERE id IN (
		SELECT id FROM used_tokens WHERE until <= clock_timestamp() ORDER BY until LIMIT 8 FOR UPDATE SKIP LOCKED))
INSERT INTO used_tokens (id, until) SELECT $1, $2 WHERE $2 > clock_timestamp() ON CONFLICT DO NOTHING`

// Seen remembers the token of an HTTP request, an event id, until a time, and reports
// whether it is the first of all processes to do so (nip98.Ledger). It takes no lock
// that a commit wants.
func (s *Store) Seen(ctx context.Context, id string, until time.Time) (first bool, err error) {
	if err := s.ready(ctx); err != nil {
		return false, err
	}
	key, err := hex.DecodeString(id)
	if err != nil {
		return false, fmt.Errorf("token: %w", err)
	}
	tag, err := s.pools.short.Exec(ctx, sqlSeen, key, until)
	if err != nil {
		return false, s.failed(ctx, err)
	}
	return tag.RowsAffected() == 1, nil
}
