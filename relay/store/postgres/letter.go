package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"fencepost/relay/store"
)

const (
	sqlPutLetter = `INSERT INTO dead_letters (replica, position, attempts, class, at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (replica, position) DO UPDATE SET attempts = excluded.attempts, class = excluded.class, at = excluded.at`

	sqlForgetLetters = `DELETE FROM dead_letters WHERE replica = $1 AND position <= (
	SELECT position FROM dead_letters WHERE replica = $1 ORDER BY position DESC OFFSET $2 LIMIT 1)`

	sqlTakeLetter = `DELETE FROM dead_letters WHERE replica = $1 AND position = $2`

	sqlLetters = `SELECT replica, position, attempts, class, at FROM dead_letters ORDER BY replica, position LIMIT $1`
)

// PutDeadLetter implements store.Letters.
func (s *Store) PutDeadLetter(ctx context.Context, l store.DeadLetter) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	var b pgx.Batch // one transaction
	b.Queue(sqlPutLetter, l.Replica, int64(l.Position), l.Attempts, l.Class, l.At)
	b.Queue(sqlForgetLetters, l.Replica, store.MaxDeadLetters)
	if err := s.pools.short.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("put dead letter: %w", s.failed(ctx, err))
	}
	return nil
}

// TakeDeadLetter implements store.Letters.
func (s *Store) TakeDeadLetter(ctx context.Context, replica string, at store.Position) (bool, error) {
	if err := s.ready(ctx); err != nil {
		return false, err
	}
	tag, err := s.pools.short.Exec(ctx, sqlTakeLetter, replica, int64(at))
	return tag.RowsAffected() > 0, s.failed(ctx, err)
}

// DeadLetters implements store.Letters.
func (s *Store) DeadLetters(ctx context.Context, limit int) (out []store.DeadLetter, err error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	rows, err := s.pools.short.Query(ctx, sqlLetters, limit)
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	var l store.DeadLetter
	var at int64
	_, err = pgx.ForEachRow(rows, []any{&l.Replica, &at, &l.Attempts, &l.Class, &l.At}, func() error {
		l.Position = store.Position(at)
		out = append(out, l)
		return nil
	})
	return out, s.failed(ctx, err)
}
