package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"fencepost/lifecycle/fence"
	"fencepost/relay/store"
)

// The statements about fences. Leases are judged and begun by the clock of the database
// alone (P14). A commit writes them in the one statement that writes its rows, which the
// version of log_head guards (sqlCommit, P7).
const (
	fenceColumns = `f.token, f.active, f.lease, f.until, f.epoch, f.next, f.used, f.cursor`

	sqlFences = `SELECT k.owner, k.name, clock_timestamp(), ` + fenceColumns + `
FROM unnest($1::bytea[], $2::text[]) AS k (owner, name)
LEFT JOIN LATERAL (SELECT * FROM fences WHERE owner = k.owner AND name = k.name OFFSET 0) f ON true`

	sqlStreams = `SELECT k.owner, (SELECT count(*) FROM fences f WHERE f.owner = k.owner)
FROM unnest($1::bytea[]) AS k (owner)`

	sqlFence = `SELECT clock_timestamp(), ` + fenceColumns + `
FROM (SELECT 1) one LEFT JOIN fences f ON f.owner = $1 AND f.name = $2`
)

// fences are what a commit knows of fences. A nil one knows none.
type fences struct {
	now     time.Time // of the database
	states  map[fence.Stream]fence.State
	streams map[string]int        // owner -> how many it has
	changed map[fence.Stream]bool // true where the lease begins anew
}

func newFences() fences {
	return fences{
		states:  make(map[fence.Stream]fence.State),
		streams: make(map[string]int),
		changed: make(map[fence.Stream]bool),
	}
}

// apply applies f, which may be nil, and with keep writes the new state.
func (s *fences) apply(f *store.Fence, event, keep bool) (store.Frame, error) {
	if f == nil {
		return store.Frame{}, nil
	}
	before := s.states[f.Stream]
	next, frame, err := f.Apply(before, event, s.now, func() (int, error) { return s.streams[f.Stream.Owner], nil })
	if err != nil {
		return store.Frame{}, err
	}
	if keep {
		if !before.Exists() {
			s.streams[f.Stream.Owner]++
		}
		s.states[f.Stream] = next
		s.changed[f.Stream] = next.Active
	}
	return frame, nil
}

// change carries out a write that changes a fence.
func (t *txn) change(f *store.Fence) (out store.Outcome) {
	out.Frame, out.Err = t.fences.apply(f, false, true)
	return out
}

// fences reads the fences that writes name: one statement for all frames of a commit
// (P17), and one more where a stream may be made.
func (l *loader) fences(n *need) {
	if len(n.fences) == 0 {
		return
	}
	var owners [][]byte
	var names []string
	for s := range n.fences {
		key, _ := decode32(s.Owner) // Validate has seen that it is one
		owners, names = append(owners, key[:]), append(names, s.Name)
	}
	into := &l.state.fences
	l.queue(sqlFences, 1, func(rows pgx.Rows) error {
		var owner []byte
		var name string
		var row fenceRow
		_, err := pgx.ForEachRow(rows, append([]any{&owner, &name, &into.now}, row.fields()...), func() error {
			state, err := row.state()
			into.states[fence.Stream{Owner: fmt.Sprintf("%x", owner), Name: name}] = state
			return err
		})
		return err
	}, owners, names)
	l.numbers(sqlStreams, list32(n.owners), func(owner []byte, n int64) { into.streams[fmt.Sprintf("%x", owner)] = int(n) })
}

// fenceRow is a row of the table, all NULL where there is none.
type fenceRow struct {
	token, used []byte
	cursor      []byte
	active      *bool
	lease       *int64 // milliseconds
	until       *time.Time
	epoch, next *int64
}

func (r *fenceRow) fields() []any {
	return []any{&r.token, &r.active, &r.lease, &r.until, &r.epoch, &r.next, &r.used, &r.cursor}
}

func (r *fenceRow) state() (s fence.State, err error) {
	if r.token == nil {
		return s, nil
	}
	s = fence.State{
		Token: to32(r.token), Active: *r.active, Lease: time.Duration(*r.lease) * time.Millisecond,
		Until: *r.until, Epoch: uint64(*r.epoch), Next: uint64(*r.next),
	}
	if len(r.cursor) > 0 {
		s.Cursor = r.cursor
	}
	s.Used, err = fence.DecodeMarks(r.used)
	return s, err
}

// with adds the fences that t changed to the statement that commits it.
func (s *fences) with(sql string, args []any) (string, []any) {
	if len(s.changed) == 0 {
		return sql, args
	}
	var owner, token, used, cursor [][]byte
	var name []string
	var active, renewed []bool
	var lease, epoch, next []int64
	for stream, renew := range s.changed {
		state := s.states[stream]
		key, _ := decode32(stream.Owner)
		owner, name = append(owner, key[:]), append(name, stream.Name)
		token, used = append(token, state.Token[:]), append(used, state.Marks())
		active, renewed = append(active, state.Active), append(renewed, renew)
		lease = append(lease, state.Lease.Milliseconds())
		cursor = append(cursor, append([]byte{}, state.Cursor...)) // never NULL
		epoch, next = append(epoch, int64(state.Epoch)), append(next, int64(state.Next))
	}
	n := len(args)
	sql += fmt.Sprintf(", fence_commit($%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d)", n+1, n+2, n+3, n+4, n+5, n+6, n+7, n+8, n+9, n+10)
	return sql, append(args, owner, name, token, active, renewed, lease, epoch, next, used, cursor)
}

// Fence implements store.Store.
func (s *Store) Fence(ctx context.Context, stream fence.Stream) (state fence.State, now time.Time, err error) {
	if err := stream.Validate(); err != nil {
		return state, now, err
	}
	if err := s.ready(ctx); err != nil {
		return state, now, err
	}
	key, _ := decode32(stream.Owner)
	var row fenceRow
	err = s.pools.short.QueryRow(ctx, sqlFence, key[:], stream.Name).Scan(append([]any{&now}, row.fields()...)...)
	if err != nil {
		return state, now, s.failed(ctx, err)
	}
	state, err = row.state()
	return state, now, err
}
