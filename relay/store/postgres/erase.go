package postgres

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Erase implements store.Store. What is to be removed is looked for in a snapshot,
// beside the writer, and each commit takes sweepRows of it.
func (s *Store) Erase(ctx context.Context, x store.Erasure, limit int) (total int, err error) {
	if err := x.Validate(); err != nil {
		return 0, err
	}
	snap, err := s.snapshot(ctx)
	if err != nil {
		return 0, err
	}
	u := snap.union(selection(&x), unlimited, x.Selects)
	var unread []uint64
	for _, w := range u.walks {
		w.now = math.MinInt64 // what has expired is erased as well
		w.unread = func(position int64) { unread = append(unread, uint64(position)) }
	}
	for total < limit {
		r := &request{Erasure: &x}
		for ended := false; !ended && len(r.Found) < min(limit-total, sweepRows); {
			found, err := u.next(ctx)
			if err != nil {
				return total, err
			}
			if ended = found == nil; !ended {
				r.Found = append(r.Found, uint64(found.position))
			}
		}
		n := min(limit-total, sweepRows) - len(r.Found)
		n = min(n, len(unread))
		r.Found, unread = append(r.Found, unread[:n]...), unread[n:]
		if len(r.Found) == 0 {
			return total, nil
		}
		s.queue.Do(ctx, r)
		total += r.Removed
		if r.Err != nil {
			return total, r.Err
		}
	}
	return total, nil
}

// selection returns filters that match all that x selects, and more.
func selection(x *store.Erasure) []*wire.Filter {
	if x.Group == "" {
		until := nostr.Timestamp(x.Until)
		return []*wire.Filter{
			wire.NewFilter(nostr.Filter{Authors: []string{x.Author}, Until: &until}),
			wire.NewFilter(nostr.Filter{Kinds: []int{store.KindGiftWrap}, Tags: nostr.TagMap{"p": {x.Author}}, Until: &until}),
		}
	}
	own := nostr.Filter{Authors: []string{x.Self}, Tags: nostr.TagMap{"d": {x.Group}}}
	for kind := 39000; ofGroup(kind); kind++ {
		own.Kinds = append(own.Kinds, kind)
	}
	return []*wire.Filter{wire.NewFilter(nostr.Filter{Tags: nostr.TagMap{"h": {x.Group}}}), wire.NewFilter(own)}
}

// trimRows is how many removed events one transaction deletes.
const trimRows = 500

const (
	sqlTrimmable = `SELECT position, gone, raw FROM events
WHERE gone IS NOT NULL AND gone_at < clock_timestamp() - make_interval(secs => $1) ORDER BY gone_at LIMIT $2`
	sqlTrimTags = `DELETE FROM tags t USING unnest($1::smallint[], $2::bytea[], $3::bigint[], $4::bytea[], $5::bigint[])
	AS k (name, value, newest, id, position)
WHERE t.name = k.name AND t.value = k.value AND t.newest = k.newest AND t.id = k.id AND t.position = k.position`
	sqlTrimUnreadTags = `DELETE FROM tags WHERE position = ANY ($1)` // of what is damaged; it walks the whole index
	sqlTrimSearch     = `DELETE FROM search WHERE position = ANY ($1)`
	sqlTrimEvents     = `DELETE FROM events WHERE position = ANY ($1) AND gone IS NOT NULL`
	sqlTrimHead       = `UPDATE log_head SET trimmed = greatest(trimmed, $1)` // last: the lock of the head is held for no longer than it takes
)

// trim deletes the events that were removed so long ago that no snapshot may look at
// them any more.
func (s *Store) trim(ctx context.Context) error {
	for {
		n, err := s.trimSome(ctx)
		if err != nil {
			return s.failed(ctx, err)
		}
		if n < trimRows {
			return nil
		}
	}
}

func (s *Store) trimSome(ctx context.Context) (int, error) {
	rows, err := s.pools.short.Query(ctx, sqlTrimmable, s.opt.SnapshotAge.Seconds(), trimRows)
	if err != nil {
		return 0, err
	}
	c := &columns{}
	var position, gone, last int64
	var all, unread []int64
	var raw []byte
	_, err = pgx.ForEachRow(rows, []any{&position, &gone, &raw}, func() error {
		all, last = append(all, position), max(last, gone)
		if r, err := recordOf(uint64(position), raw); err == nil {
			c.event(r, position)
		} else {
			unread = append(unread, position)
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		return 0, err
	}
	var b pgx.Batch
	b.Queue(sqlTrimTags, c.tagName, c.tagValue, c.tagNewest, c.tagID, c.tagPosition)
	if len(unread) > 0 {
		b.Queue(sqlTrimUnreadTags, unread)
	}
	b.Queue(sqlTrimSearch, all)
	b.Queue(sqlTrimEvents, all)
	b.Queue(sqlTrimHead, last)
	return len(all), s.pools.short.SendBatch(ctx, &b).Close()
}

func recordOf(position uint64, raw []byte) (*record, error) {
	e, err := decodeStored(position, raw)
	if err != nil {
		return nil, err
	}
	return newRecord(e)
}
