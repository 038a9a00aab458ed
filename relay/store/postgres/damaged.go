package postgres

import (
	"github.com/jackc/pgx/v5"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Damaged returns how often a stored event that cannot be read was left out of an answer,
// or removed unread. It does not lock.
func (s *Store) Damaged() uint64 { return s.damaged.Load() }

// leaveOut notes that an event is left out because of err.
func (s *Store) leaveOut(err error) {
	s.damaged.Add(1)
	s.opt.Logger.Error("stored event cannot be read and is left out", "err", err)
}

// stands is what a statement found at the position of an event.
type stands struct {
	position int64
	event    *wire.Event // nil: its wire form was not asked for, or is damaged
	damaged  bool
}

// collect reads rows of a position and a wire form, which may be NULL. One that cannot be
// read is no error: whoever asks for many must get the others.
func (s *Store) collect(rows pgx.Rows) (out []stands, err error) {
	var position uint64
	var raw []byte
	_, err = pgx.ForEachRow(rows, []any{&position, &raw}, func() error {
		e, err := decodeStored(position, raw)
		if err != nil {
			s.leaveOut(err)
		}
		out = append(out, stands{position: int64(position), event: e, damaged: err != nil})
		return nil
	})
	return out, err
}

// removeUnread removes e, which is damaged, and says so to nobody: a feed is told of a
// removal by what the event was, and who may know of it hangs on its tags.
func (t *txn) removeUnread(e *stored) { t.void(e, store.VoidRemoved, t.head) }
