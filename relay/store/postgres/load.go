package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// The statements that read a state. The version comes first: what a later one sees
// beyond it belongs to a commit that moved the version, and log_commit then refuses.
// OFFSET 0 has each key be looked up: the plan that a session keeps from when a table was
// small would go through all of it otherwise, once for each key of a commit.
const (
	sqlHead     = `SELECT version, head FROM log_head`
	sqlHeadLock = sqlHead + ` FOR UPDATE`

	// A wire form comes only where a decision can need it, and not when all of them
	// together are too large. To ask for its length does not read it.
	sqlByID = sqlWithin + `e.kind = 1059 OR e.pubkey = ANY ($2::bytea[]) OR e.id = ANY ($3::bytea[]) AS needed
FROM unnest($1::bytea[]) AS k (id)
CROSS JOIN LATERAL (SELECT * FROM events WHERE id = k.id AND coalesce(gone, 0) = 0 OFFSET 0) e) n) n`

	sqlByAddress = sqlWithin + `e.address = ANY ($2::bytea[]) AS needed
FROM unnest($1::bytea[]) AS k (address)
CROSS JOIN LATERAL (SELECT * FROM events WHERE address IS NOT NULL AND address = k.address AND coalesce(gone, 0) = 0 OFFSET 0) e) n) n`

	sqlWithin = `SELECT position, id, newest, address, CASE WHEN needed AND total <= ` + maxNamed + ` THEN raw END, total > ` + maxNamed + ` FROM (
SELECT *, coalesce(sum(CASE WHEN needed THEN octet_length(raw) END) OVER (), 0) AS total FROM (
SELECT e.position, e.id, e.newest, e.address, e.raw, `

	// What is to be erased, which requests to vanish (62) never are.
	sqlByPosition = `SELECT e.position, e.id, e.newest, e.address, e.raw, false
FROM unnest($1::bigint[]) AS k (position)
CROSS JOIN LATERAL (SELECT * FROM events WHERE position = k.position AND gone IS NULL AND kind <> 62 OFFSET 0) e`

	sqlDue = `SELECT d.position, d.id, d.newest, d.address, d.raw FROM (
	(SELECT e.expires AS due, 0 AS nanos, e.position, e.id, e.newest, e.address, e.raw
	FROM events e WHERE e.expires IS NOT NULL AND e.gone IS NULL AND e.expires <= $1 ORDER BY e.expires, e.position LIMIT $3)
UNION ALL
	(SELECT l.due, l.due_nanos, l.position, NULL, NULL, NULL, NULL
	FROM log l WHERE l.due IS NOT NULL AND (l.due, l.due_nanos) <= ($1, $2) ORDER BY l.due, l.due_nanos, l.position LIMIT $3)
) d ORDER BY d.due, d.nanos, d.position LIMIT $3`

	sqlTombs        = `SELECT t.id, t.pubkey FROM unnest($1::bytea[]) AS k (id) CROSS JOIN LATERAL (SELECT * FROM tombs WHERE id = k.id OFFSET 0) t`
	sqlAddressTombs = `SELECT t.address, t.until FROM unnest($1::bytea[]) AS k (address) CROSS JOIN LATERAL (SELECT * FROM address_tombs WHERE address = k.address OFFSET 0) t`
	sqlBans         = `SELECT b.id FROM unnest($1::bytea[]) AS k (id) CROSS JOIN LATERAL (SELECT * FROM bans WHERE id = k.id OFFSET 0) b`
	sqlEpochs       = `SELECT e.scope, e.position FROM unnest($1::bytea[]) AS k (scope) CROSS JOIN LATERAL (SELECT * FROM epochs WHERE scope = k.scope OFFSET 0) e`
	sqlErasedKeys   = `SELECT e.pubkey, e.until FROM unnest($1::bytea[]) AS k (pubkey) CROSS JOIN LATERAL (SELECT * FROM erased_keys WHERE pubkey = k.pubkey OFFSET 0) e`
	sqlErasedGroups = `SELECT e.name, e.self FROM unnest($1::bytea[]) AS k (name) CROSS JOIN LATERAL (SELECT * FROM erased_groups WHERE name = k.name OFFSET 0) e`
)

// maxNamed bounds the wire forms, in bytes, of the events that one commit deletes or bans
// by name: a request of some hundred kilobytes can name gigabytes.
const maxNamed = "67108864"

// errNamed refuses what names more than maxNamed, once it is alone.
var errNamed = wire.Because(wire.Invalid, "the events that are named are too large for one request, name fewer of them")

// loader builds the pipeline that reads a state.
type loader struct {
	batch pgx.Batch
	state *state
	err   error // the first of a damaged row that is named

	unread bool // what is damaged is removed as well: a sweep or an erasure
}

// load reads what n needs, in one round trip. With lock it begins a transaction that has
// the lock of the head.
func load(ctx context.Context, conn *pgx.Conn, n *need, lock bool) (*state, error) {
	l := &loader{state: newState()}
	head := sqlHead
	if lock {
		l.batch.Queue("BEGIN")
		l.batch.Queue("SELECT log_lock()")
		head = sqlHeadLock
	}
	l.batch.Queue(head).QueryRow(func(r pgx.Row) error { return r.Scan(&l.state.version, &l.state.head) })
	ids := list32(n.ids)
	l.events(sqlByID, len(ids), ids, list32(n.deleters), list32(n.banned))
	l.events(sqlByAddress, len(n.addresses), listText(n.addresses), listText(n.deleted))
	l.unread = len(n.positions) > 0 || !n.until.IsZero() // then the commit has nothing else
	l.events(sqlByPosition, len(n.positions), n.positions)
	if !n.until.IsZero() {
		l.sweep(n.until)
	}
	l.pairs(sqlTombs, ids, func(id, pubkey []byte) { l.state.tombs[tomb{to32(id), to32(pubkey)}] = struct{}{} })
	l.numbers(sqlAddressTombs, listText(n.addresses), func(address []byte, until int64) {
		l.state.addressTombs[string(address)] = until
	})
	l.queue(sqlBans, len(ids), func(rows pgx.Rows) error {
		var id []byte
		_, err := pgx.ForEachRow(rows, []any{&id}, func() error { l.state.bans[to32(id)] = struct{}{}; return nil })
		return err
	}, ids)
	l.numbers(sqlEpochs, listText(n.scopes), func(scope []byte, position int64) {
		l.state.epochs[string(scope)] = store.Position(position)
	})
	l.numbers(sqlErasedKeys, list32(n.keys), func(key []byte, until int64) { l.state.keys[to32(key)] = until })
	l.pairs(sqlErasedGroups, listText(n.groups), func(name, self []byte) {
		l.state.groups[string(name)] = struct{}{}
		l.state.groups[string(name)+string(self)] = struct{}{}
	})
	l.fences(n)
	if err := conn.SendBatch(ctx, &l.batch).Close(); err != nil {
		return nil, err
	}
	return l.state, l.err
}

// queue adds a statement to the pipeline unless it would ask for nothing.
func (l *loader) queue(sql string, asked int, read func(pgx.Rows) error, args ...any) {
	if asked > 0 {
		l.batch.Queue(sql, args...).Query(read)
	}
}

func (l *loader) events(sql string, asked int, args ...any) {
	l.queue(sql, asked, func(rows pgx.Rows) error {
		var position uint64
		var id, address, raw []byte
		var newest int64
		var large bool
		_, err := pgx.ForEachRow(rows, []any{&position, &id, &newest, &address, &raw, &large}, func() error {
			l.add(position, id, newest, address, raw)
			if large && l.err == nil {
				l.err = errNamed
			}
			return nil
		})
		return err
	}, args...)
}

// sweep reads what is due; a row without a stored event is ephemeral.
func (l *loader) sweep(until time.Time) {
	l.queue(sqlDue, 1, func(rows pgx.Rows) error {
		var position uint64
		var id, address, raw []byte
		var newest *int64
		_, err := pgx.ForEachRow(rows, []any{&position, &id, &newest, &address, &raw}, func() error {
			l.state.due = append(l.state.due, position)
			if newest != nil {
				l.add(position, id, *newest, address, raw)
			}
			return nil
		})
		return err
	}, until.Unix(), int32(until.Nanosecond()), sweepRows)
}

func (l *loader) add(position uint64, id []byte, newest int64, address, raw []byte) {
	event, err := decodeStored(position, raw)
	switch {
	case err != nil && l.unread:
		l.state.damaged = append(l.state.damaged, err)
	case err != nil && l.err == nil:
		l.err = err
	}
	l.state.add(&stored{position: position, id: to32(id), at: ^newest, address: string(address), event: event})
}

func decodeStored(position uint64, raw []byte) (*wire.Event, error) {
	if raw == nil {
		return nil, nil
	}
	e, err := decodeEvent(raw)
	if err != nil {
		return nil, fmt.Errorf("event at %d: %w", position, err)
	}
	return e, nil
}

func (l *loader) pairs(sql string, keys [][]byte, yield func(a, b []byte)) {
	l.queue(sql, len(keys), func(rows pgx.Rows) error {
		var a, b []byte
		_, err := pgx.ForEachRow(rows, []any{&a, &b}, func() error { yield(a, b); return nil })
		return err
	}, keys)
}

func (l *loader) numbers(sql string, keys [][]byte, yield func(key []byte, n int64)) {
	l.queue(sql, len(keys), func(rows pgx.Rows) error {
		var key []byte
		var n int64
		_, err := pgx.ForEachRow(rows, []any{&key, &n}, func() error { yield(key, n); return nil })
		return err
	}, keys)
}

func to32(b []byte) (out [32]byte) {
	copy(out[:], b)
	return out
}
