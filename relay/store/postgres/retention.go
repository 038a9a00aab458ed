package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"fencepost/relay/store"
)

// logTrimRows is how many log rows one transaction removes; the head is locked for that
// long.
const logTrimRows = 2000

const (
	sqlExtent  = `SELECT floor, head FROM log_head`
	sqlTimes   = `SELECT position, at FROM log_times ORDER BY position`
	sqlTrimLog = `SELECT log_trim($1, $2, $3, $4)`
)

// Trim implements store.Store. Several processes may trim at once: each transaction
// begins at the floor that it finds.
func (s *Store) Trim(ctx context.Context, keep store.Retention, now time.Time) (store.Position, error) {
	for last := store.Position(0); ; {
		floor, ended, err := s.trimLog(ctx, keep, now)
		if err != nil || ended || floor == last {
			return floor, s.failed(ctx, err)
		}
		last = floor
	}
}

// trimLog takes one step.
func (s *Store) trimLog(ctx context.Context, keep store.Retention, now time.Time) (floor store.Position, ended bool, err error) {
	if err := s.ready(ctx); err != nil {
		return 0, true, err
	}
	var info store.LogInfo
	var kept []store.Moment
	var b pgx.Batch
	b.Queue(sqlTimes).Query(func(rows pgx.Rows) error { // before the head, which is no lower then
		kept, err = pgx.CollectRows(rows, pgx.RowToStructByPos[store.Moment])
		return err
	})
	b.Queue(sqlExtent).QueryRow(func(r pgx.Row) error { return r.Scan(&info.Floor, &info.Head) })
	if err := s.pools.short.SendBatch(ctx, &b).Close(); err != nil {
		return 0, true, err
	}
	aim, moments := keep.Plan(now, info, kept)
	var positions, times []int64 // NULL: as they are
	if !slices.Equal(kept, moments) {
		positions, times = []int64{}, []int64{}
		for _, m := range moments {
			positions, times = append(positions, int64(m.Position)), append(times, m.At)
		}
	}
	if aim == info.Floor && positions == nil {
		return info.Floor, true, nil
	}
	err = s.pools.short.QueryRow(ctx, sqlTrimLog, int64(aim), logTrimRows, positions, times).Scan(&floor)
	return floor, floor >= aim || floor == info.Floor, err
}
