package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"fencepost/relay/store"
)

// sessionsKept is how long sessions that ended and nodes that are silent are kept, and
// endedKept how many of the former of one node, the last one of each key.
const (
	sessionsKept = "24 hours"
	endedKept    = "100000"
)

const (
	sqlReportNode = `INSERT INTO session_nodes AS n (node, incarnation, stopped, connections) VALUES ($1, $2, $3, $4)
ON CONFLICT (node, incarnation) DO UPDATE
	SET observed = clock_timestamp(), stopped = excluded.stopped, connections = excluded.connections
RETURNING xmax = 0`

	sqlReportOpen = `INSERT INTO sessions (node, incarnation, conn, pubkey, active, doc)
SELECT $1, $2, a, b, clock_timestamp() - c, d FROM unnest($3::bigint[], $4::bytea[], $5::interval[], $6::bytea[]) AS r (a, b, c, d)
ON CONFLICT (node, incarnation, conn, pubkey) DO UPDATE SET active = excluded.active, doc = excluded.doc`

	sqlReportEnded = `UPDATE sessions SET ended = clock_timestamp()
FROM unnest($3::bigint[], $4::bytea[]) AS r (a, b)
WHERE node = $1 AND incarnation = $2 AND conn = a AND pubkey = b AND ended = 'infinity'`

	// Not those of the same report, which may be told again after a lost answer.
	sqlReplaceEnded = `DELETE FROM sessions s USING unnest($4::bytea[]) AS r (key)
WHERE s.pubkey = r.key AND s.node = $1 AND s.incarnation = $2 AND s.ended < 'infinity' AND s.conn <> ALL ($3::bigint[])`

	sqlReportStopped = `UPDATE sessions SET ended = clock_timestamp() WHERE node = $1 AND incarnation = $2 AND ended = 'infinity'`

	// Each process forgets what it said itself, and the nodes that nobody speaks for.
	sqlForgetOwn = `DELETE FROM sessions WHERE node = $1 AND incarnation = $2 AND ended < greatest(
	clock_timestamp() - interval '` + sessionsKept + `',
	(SELECT ended FROM sessions WHERE node = $1 AND incarnation = $2 AND ended < 'infinity' ORDER BY ended DESC OFFSET ` + endedKept + ` LIMIT 1))`
	sqlForgetGone = `WITH gone AS (
	DELETE FROM session_nodes WHERE (node, incarnation) IN (
		SELECT node, incarnation FROM session_nodes WHERE observed < clock_timestamp() - interval '` + sessionsKept + `'
		FOR UPDATE SKIP LOCKED)
	RETURNING node, incarnation)
DELETE FROM sessions s USING gone g WHERE s.node = g.node AND s.incarnation = g.incarnation`

	sqlNodes = `SELECT n.node, n.incarnation, n.connections, clock_timestamp() - n.observed,
	n.stopped OR EXISTS (SELECT 1 FROM session_nodes l WHERE l.node = n.node AND l.started > n.started)
FROM session_nodes n`

	sessionColumns = `s.node, s.incarnation, s.conn, s.pubkey, s.ended <> 'infinity', clock_timestamp() - s.active, s.doc`

	sqlSessionsOfKeys = `SELECT ` + sessionColumns + ` FROM unnest($1::bytea[]) AS k (key)
CROSS JOIN LATERAL (SELECT * FROM sessions WHERE pubkey = k.key ORDER BY ended DESC LIMIT $2) AS s`

	sqlSessionsAll = `SELECT ` + sessionColumns + ` FROM sessions s
WHERE (s.node, s.incarnation, s.conn, s.pubkey) > ($1, $2, $3, $4)
ORDER BY s.node, s.incarnation, s.conn, s.pubkey LIMIT $5`
)

// Report implements store.Sessions. All times are the database's.
func (s *Store) Report(ctx context.Context, r store.SessionReport) (fresh bool, err error) {
	if err := errors.Join(r.Validate(), s.ready(ctx)); err != nil {
		return false, err
	}
	incarnation, _ := hex.DecodeString(r.Node.Incarnation) // Validate has looked at it
	var b pgx.Batch                                        // one transaction
	b.Queue(sqlReportNode, r.Node.Name, incarnation, r.Stopped, r.Connections).
		QueryRow(func(row pgx.Row) error { return row.Scan(&fresh) })
	queueOpen(&b, r, incarnation)
	queueEnded(&b, r, incarnation)
	b.Queue(sqlForgetOwn, r.Node.Name, incarnation)
	b.Queue(sqlForgetGone)
	return fresh, s.failed(ctx, s.pools.short.SendBatch(ctx, &b).Close())
}

func queueOpen(b *pgx.Batch, r store.SessionReport, incarnation []byte) {
	if len(r.Open) == 0 {
		return
	}
	n := len(r.Open)
	conns, keys, idle, docs := make([]int64, n), make([][]byte, n), make([]time.Duration, n), make([][]byte, n)
	for i, o := range r.Open {
		key, _ := decode32(o.Key)
		conns[i], keys[i], idle[i], docs[i] = int64(o.Conn), key[:], o.Idle, o.Doc
	}
	b.Queue(sqlReportOpen, r.Node.Name, incarnation, conns, keys, idle, docs)
}

func queueEnded(b *pgx.Batch, r store.SessionReport, incarnation []byte) {
	if r.Stopped {
		b.Queue(sqlReportStopped, r.Node.Name, incarnation)
		return
	}
	if len(r.Ended) == 0 {
		return
	}
	conns, keys := make([]int64, len(r.Ended)), make([][]byte, len(r.Ended))
	for i, o := range r.Ended {
		key, _ := decode32(o.Key)
		conns[i], keys[i] = int64(o.Conn), key[:]
	}
	b.Queue(sqlReplaceEnded, r.Node.Name, incarnation, conns, keys)
	b.Queue(sqlReportEnded, r.Node.Name, incarnation, conns, keys)
}

// OfKeys implements store.Sessions.
func (s *Store) OfKeys(ctx context.Context, now time.Time, keys []string, limit int) ([]store.SessionSeen, error) {
	raw := make([][]byte, 0, len(keys))
	for _, k := range keys {
		if key, ok := decode32(k); ok { // nobody else can have a session
			raw = append(raw, key[:])
		}
	}
	out, _, err := s.readSessions(ctx, now, sqlSessionsOfKeys, raw, limit)
	return out, err
}

// All implements store.Sessions.
func (s *Store) All(ctx context.Context, now time.Time, after store.SessionRef, limit int) ([]store.SessionSeen, []store.NodeSeen, error) {
	incarnation, err := hex.DecodeString(after.Incarnation)
	if err != nil {
		return nil, nil, fmt.Errorf("incarnation: %w", err)
	}
	key, err := hex.DecodeString(after.Key)
	if err != nil {
		return nil, nil, fmt.Errorf("key: %w", err)
	}
	return s.readSessions(ctx, now, sqlSessionsAll, after.Name, incarnation, int64(after.Conn), key, limit)
}

// readSessions reads the nodes and some sessions. Ages are differences of the
// database's clock, seen from now.
func (s *Store) readSessions(ctx context.Context, now time.Time, sql string, args ...any) (out []store.SessionSeen, nodes []store.NodeSeen, err error) {
	if err := s.ready(ctx); err != nil {
		return nil, nil, err
	}
	var b pgx.Batch
	states := make(map[store.Node]store.NodeState)
	b.Queue(sqlNodes).Query(func(rows pgx.Rows) error {
		nodes, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (n store.NodeSeen, err error) {
			var incarnation []byte
			err = row.Scan(&n.Name, &incarnation, &n.Connections, &n.Age, &n.Gone)
			n.Incarnation, n.Age = hex.EncodeToString(incarnation), max(0, n.Age)
			n.Observed = now.Add(-n.Age)
			states[n.Node] = n.NodeState
			return n, err
		})
		return err
	})
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.SessionSeen, error) { return scanSession(row, now) })
		return err
	})
	if err := s.pools.short.SendBatch(ctx, &b).Close(); err != nil {
		return nil, nil, s.failed(ctx, err)
	}
	seen := out[:0]
	for _, e := range out {
		state, ok := states[e.Node]
		if ok { // else its node was forgotten between the two readings
			e.NodeState = state
			seen = append(seen, e)
		}
	}
	return seen, nodes, nil
}

func scanSession(row pgx.CollectableRow, now time.Time) (e store.SessionSeen, err error) {
	var incarnation, key, doc []byte
	var conn int64
	var quiet time.Duration
	err = row.Scan(&e.Name, &incarnation, &conn, &key, &e.Ended, &quiet, &doc)
	e.Incarnation, e.Key, e.Conn, e.Doc = hex.EncodeToString(incarnation), hex.EncodeToString(key), uint64(conn), doc
	e.Active = now.Add(-quiet)
	return e, err
}
