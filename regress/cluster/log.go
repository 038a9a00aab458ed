package cluster

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Log is the log of the database, by a statement of this package's own.
type Log struct {
	Head int64
	at   map[string]int64 // first 16 digits of an id -> position
	rows map[string]int   // the same -> how many rows there are of it
}

// rowEvent and the others are the types of rows that events have.
const (
	rowEvent     = 1
	rowEphemeral = 2
	rowVoid      = 4
)

// ReadLog reads the whole log. The error says so when it is not dense.
func ReadLog(ctx context.Context, database string) (l *Log, err error) {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	// Replicas may be writing still: both statements see one moment.
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tx.Rollback(ctx)) }()
	l = &Log{at: make(map[string]int64), rows: make(map[string]int)}
	rows, err := tx.Query(ctx, `SELECT position, type::int, prefix FROM log ORDER BY position`)
	if err != nil {
		return nil, err
	}
	var position int64
	var kind int
	var prefix []byte
	_, err = pgx.ForEachRow(rows, []any{&position, &kind, &prefix}, func() error {
		if l.Head++; position != l.Head {
			return fmt.Errorf("position %d follows %d", position, l.Head-1)
		}
		if kind == rowEvent || kind == rowEphemeral || kind == rowVoid {
			id := hex.EncodeToString(prefix)
			l.at[id] = position
			l.rows[id]++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var head int64
	if err := tx.QueryRow(ctx, `SELECT head FROM log_head`).Scan(&head); err != nil {
		return nil, err
	}
	if head != l.Head {
		return nil, fmt.Errorf("the head is %d and the log ends at %d", head, l.Head)
	}
	return l, nil
}

// Position returns where the event with that id stands, 0 when it is not in the log, and
// how many rows there are of it.
func (l *Log) Position(id string) (position int64, rows int) {
	return l.at[id[:16]], l.rows[id[:16]]
}
