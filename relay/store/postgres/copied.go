package postgres

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"fencepost/lifecycle/fence"
	"fencepost/relay/store"
)

// How far a copy into this database is. The table is made by the first copy, since most
// databases see none.
const (
	sqlMakeCopying = `CREATE TABLE IF NOT EXISTS copying (
	one boolean PRIMARY KEY DEFAULT true CHECK (one), token text NOT NULL, done boolean NOT NULL)`
	sqlHasCopying = `SELECT to_regclass('copying') IS NOT NULL`
	sqlCopying    = `SELECT token, done FROM copying`
	sqlSetCopying = `INSERT INTO copying AS c (token, done) VALUES ($1, $2)
ON CONFLICT (one) DO UPDATE SET token = excluded.token, done = excluded.done`
)

// copied writes c as it is.
func (t *txn) copied(c *store.Copied) (out store.Outcome) {
	if t.copying != c.Before || t.copying.Token == "" && t.head > 0 { // race: kill between a commit and its answer
		return store.Outcome{Err: store.ErrCopy}
	}
	records := make([]*record, len(c.Rows))
	for i := range c.Rows {
		if c.Rows[i].Type != store.EntryEvent {
			continue
		}
		r, err := newRecord(c.Rows[i].Event)
		if err != nil {
			return store.Outcome{Err: err}
		}
		records[i] = r
	}
	for _, m := range c.Marks {
		if err := t.mark(m); err != nil {
			return store.Outcome{Err: err}
		}
	}
	before := t.head
	for i := range c.Rows {
		if records[i] == nil {
			t.addControl(c.Rows[i].Control)
		} else {
			t.insert(records[i])
		}
	}
	t.copying, t.newCopying = c.After, true
	if t.head > before {
		out.Position, out.Last = store.Position(before+1), store.Position(t.head)
	}
	return out
}

// insert stores r, about which nobody decides any more.
func (t *txn) insert(r *record) store.Position {
	entry := store.Entry{Type: store.EntryEvent, Event: r.event, Prefix: store.PrefixOf(r.event)}
	position := t.push(row{Entry: entry, record: r})
	t.add(&stored{position: uint64(position), id: r.id, at: r.at, address: r.address, event: r.event})
	return position
}

// mark remembers m. Its keys are those of the tables, with nothing between the columns.
func (t *txn) mark(m store.Mark) error {
	switch m.Kind {
	case store.MarkTomb:
		mark := tomb{id: to32(m.Key[:32]), pubkey: to32(m.Key[32:])}
		t.tombs[mark] = struct{}{}
		t.newTombs = append(t.newTombs, mark)
	case store.MarkAddress:
		t.addressTombs[string(m.Key)], t.newAddressTombs[string(m.Key)] = m.Until, m.Until
	case store.MarkBan:
		id := to32(m.Key)
		t.bans[id], t.banned[id] = struct{}{}, true
	case store.MarkKey:
		key := to32(m.Key)
		t.keys[key], t.newKeys[key] = m.Until, m.Until
	case store.MarkFence:
		stream, state, err := m.Fence(t.fences.now)
		if err != nil {
			return err
		}
		t.fences.states[stream], t.fences.changed[stream] = state, state.Active
	case store.MarkGroup:
		name := m.Key[:len(m.Key)-32]
		t.groups[string(name)], t.groups[string(m.Key)] = struct{}{}, struct{}{}
		t.newGroups = append(t.newGroups, group{name: name, self: to32(m.Key[len(name):])})
	}
	return nil
}

// querier is a connection, a pool of them, or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// readCopying returns how far a copy into the database is.
func readCopying(ctx context.Context, q querier) (c store.Copying, err error) {
	var made bool
	if err := q.QueryRow(ctx, sqlHasCopying).Scan(&made); err != nil || !made {
		return c, err
	}
	err = q.QueryRow(ctx, sqlCopying).Scan(&c.Token, &c.Done)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, nil
	}
	return c, err
}

// loadCopying reads the same for a commit that goes on with a copy, and makes the table
// where there is none.
func loadCopying(ctx context.Context, conn *pgx.Conn) (c store.Copying, err error) {
	if _, err := conn.Exec(ctx, sqlMakeCopying); err != nil {
		return c, fmt.Errorf("progress of a copy: %w", err)
	}
	return readCopying(ctx, conn)
}

// checkCopying refuses a database that holds part of another store.
func checkCopying(ctx context.Context, conn *pgx.Conn, o Options) error {
	if o.Copying {
		return nil
	}
	c, err := readCopying(ctx, conn)
	if err != nil {
		return fmt.Errorf("progress of a copy: %w", err)
	}
	if c.Token != "" && !c.Done {
		return store.ErrCopying
	}
	return nil
}

// Copying returns how far a copy into this store is.
func (s *Store) Copying(ctx context.Context) (store.Copying, error) {
	if err := s.ready(ctx); err != nil {
		return store.Copying{}, err
	}
	c, err := readCopying(ctx, s.pools.short)
	return c, s.failed(ctx, err)
}

// Others returns how many sessions of other processes of this program the database has.
func (s *Store) Others(ctx context.Context) (n int, err error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	n, err = replicas(ctx, s.pools.short)
	return n, s.failed(ctx, err)
}

// replicas returns how many sessions of replicas the database of q has.
func replicas(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
},
) (n int, err error) {
	const sql = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1`
	err = q.QueryRow(ctx, sql, applicationName).Scan(&n)
	return n, err
}

const sqlStored = `SELECT position, raw FROM events WHERE gone IS NULL AND position > $1 ORDER BY position LIMIT $2`

// ReadStored returns up to limit stored events and control rows after a position, in
// position order, whatever retention took from the log. Meant for a store at rest.
func (s *Store) ReadStored(ctx context.Context, after store.Position, limit int) ([]store.Entry, error) {
	controls, err := s.ReadControl(ctx, after, limit)
	if err != nil || limit <= 0 || after >= math.MaxInt64 {
		return nil, err
	}
	rows, err := s.pools.short.Query(ctx, sqlStored, int64(after), limit)
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	var events []store.Entry
	var position uint64
	var raw []byte
	_, err = pgx.ForEachRow(rows, []any{&position, &raw}, func() error {
		e, err := decodeStored(position, raw)
		if err != nil {
			return err
		}
		events = append(events, store.Entry{
			Position: store.Position(position), Type: store.EntryEvent, Event: e, Prefix: store.PrefixOf(e),
		})
		return nil
	})
	return store.Merge(events, controls, limit), s.failed(ctx, err)
}

// markTables say where the marks of each kind are: statements that read those after a
// key, of which last bytes are in a second column.
var markTables = [...]struct {
	kind store.MarkKind
	last int
	sql  string
}{
	{store.MarkTomb, 32, `SELECT id || pubkey, 0::bigint FROM tombs WHERE (id, pubkey) > ($2, $3) ORDER BY id, pubkey LIMIT $1`},
	{store.MarkAddress, 0, `SELECT address, until FROM address_tombs WHERE address > $2 ORDER BY address LIMIT $1`},
	{store.MarkBan, 0, `SELECT id, 0::bigint FROM bans WHERE id > $2 ORDER BY id LIMIT $1`},
	{store.MarkKey, 0, `SELECT pubkey, until FROM erased_keys WHERE pubkey > $2 ORDER BY pubkey LIMIT $1`},
	{store.MarkGroup, 32, `SELECT name || self, 0::bigint FROM erased_groups WHERE (name, self) > ($2, $3) ORDER BY name, self LIMIT $1`},
}

// ReadMarks returns up to limit marks that come after one, in the order of
// store.Mark.Compare; the zero mark stands before the first.
func (s *Store) ReadMarks(ctx context.Context, after store.Mark, limit int) (marks []store.Mark, err error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	for _, table := range markTables {
		left := limit - len(marks)
		if table.kind < after.Kind || left <= 0 {
			continue
		}
		key := []byte{} // nil is NULL
		if table.kind == after.Kind {
			key = after.Key
		}
		cut := max(len(key)-table.last, 0)
		args := []any{left, key[:cut:cut], key[cut:]}
		if table.last == 0 {
			args = args[:2]
		}
		found, err := s.readMarks(ctx, table.kind, table.sql, args)
		if err != nil {
			return nil, err
		}
		marks = append(marks, found...)
	}
	if left := limit - len(marks); left > 0 {
		found, err := s.readFences(ctx, after, left)
		return append(marks, found...), err
	}
	return marks, nil
}

const sqlReadFences = `SELECT f.owner, f.name, ` + fenceColumns + `
FROM fences f WHERE (f.owner, f.name) > ($2, $3) ORDER BY f.owner, f.name LIMIT $1`

// readFences reads the marks of fences, which are the last.
func (s *Store) readFences(ctx context.Context, after store.Mark, limit int) (marks []store.Mark, err error) {
	owner, name := []byte{}, ""
	if after.Kind == store.MarkFence {
		owner, name = after.Key[:32], string(after.Key[32:])
	}
	rows, err := s.pools.short.Query(ctx, sqlReadFences, limit, owner, name)
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	var row fenceRow
	_, err = pgx.ForEachRow(rows, append([]any{&owner, &name}, row.fields()...), func() error {
		state, err := row.state()
		if err == nil {
			marks = append(marks, store.FenceMark(fence.Stream{Owner: hex.EncodeToString(owner), Name: name}, state))
		}
		return err
	})
	return marks, s.failed(ctx, err)
}

func (s *Store) readMarks(ctx context.Context, kind store.MarkKind, sql string, args []any) (marks []store.Mark, err error) {
	rows, err := s.pools.short.Query(ctx, sql, args...)
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	m := store.Mark{Kind: kind}
	_, err = pgx.ForEachRow(rows, []any{&m.Key, &m.Until}, func() error {
		marks = append(marks, store.Mark{Kind: kind, Key: bytes.Clone(m.Key), Until: m.Until})
		return nil
	})
	return marks, s.failed(ctx, err)
}
