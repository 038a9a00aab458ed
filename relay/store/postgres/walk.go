package postgres

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

const (
	minChunk = 16  // entries that one statement asks for at least
	maxChunk = 500 // and at most, over all streams; four of each stream besides
	maxLooks = 512 // entries looked at after the end, to find out whether a limit hid a match

	mostLoaded = 1000 // events that one walk holds in memory

	// mostBytes bounds their wire forms, in bytes, and those of a page, but for the last
	// one: a reader who does not read keeps them for as long as he is waited for.
	mostBytes = 512 << 10
)

// entry is what an index knows of an event.
type entry struct {
	newest   int64
	id       []byte
	position int64
}

func compareEntries(a, b entry) int {
	switch {
	case a.newest < b.newest:
		return -1
	case a.newest > b.newest:
		return 1
	default:
		return bytes.Compare(a.id, b.id)
	}
}

// item is a match.
type item struct {
	entry
	event *wire.Event
}

// walk yields what one filter matches, in the order of answers.
type walk struct {
	// Set at construction, never changed.
	snapshot *snapshot
	filter   *wire.Filter
	query    query
	plan     plan
	now      int64

	left   int     // how many more the limit allows
	items  []item  // matches that were found, the next one first
	found  []entry // what is not looked at yet
	cursor entry   // where the next chunk begins
	begun  bool
	ended  bool // nothing is left in the database
	looks  int  // entries that may still be looked at; negative is no bound

	unread func(position int64) // told of what is damaged, if the index alone selects it; nil: nobody
}

func unlimited(*wire.Filter) int { return math.MaxInt }

// errLooks says that looking further would take long.
var errLooks = errors.New("looked long enough")

// head returns the next match, nil at the end.
func (w *walk) head(ctx context.Context) (*item, error) {
	for len(w.items) == 0 {
		if w.ended && len(w.found) == 0 {
			return nil, nil
		}
		if w.looks == 0 {
			return nil, errLooks
		}
		if err := w.fill(ctx); err != nil {
			return nil, err
		}
	}
	return &w.items[0], nil
}

// fill looks at the next entries.
func (w *walk) fill(ctx context.Context) (err error) {
	if len(w.found) == 0 {
		if w.filter.IDs != nil {
			w.found, err = w.byID(ctx)
		} else {
			w.found, err = w.chunk(ctx)
		}
		if err != nil {
			return err
		}
	}
	n, err := w.load(ctx, w.found[:min(len(w.found), mostLoaded)])
	w.found = w.found[n:]
	if w.looks > 0 {
		w.looks = max(w.looks-n, 0)
	}
	return err
}

// byID finds everything at once.
func (w *walk) byID(ctx context.Context) (found []entry, err error) {
	w.ended = true
	err = w.snapshot.read(ctx, sqlByIDs, []any{w.query.ids, w.snapshot.head}, func(rows pgx.Rows) error {
		var e entry
		_, err := pgx.ForEachRow(rows, []any{&e.newest, &e.id, &e.position}, func() error {
			found = append(found, e)
			return nil
		})
		return err
	})
	slices.SortFunc(found, compareEntries)
	return found, err
}

// chunk reads on from the cursor. A stream that gave as many entries as it might has
// more; beyond the last of the first such, others may lack some.
func (w *walk) chunk(ctx context.Context) (found []entry, err error) {
	if !w.begun {
		w.begun, w.cursor = true, entry{newest: w.query.from, id: []byte{}}
	}
	n := maxChunk
	if w.left < maxChunk {
		n = max(w.left+1, minChunk)
	}
	switch {
	case w.filter.Searches():
		n = searchChunk(w.left)
	case w.plan.streams > 1:
		n = 4 + 2*n/w.plan.streams
	}
	given := make(map[int64]int) // stream -> entries
	var full []entry
	err = w.snapshot.read(ctx, w.plan.sql, w.args(n), func(rows pgx.Rows) error {
		var stream int64
		var e entry
		_, err := pgx.ForEachRow(rows, []any{&stream, &e.newest, &e.id, &e.position}, func() error {
			found = append(found, e)
			if given[stream]++; given[stream] == n {
				full = append(full, e) // each stream comes in its order
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, compareEntries)
	found = slices.CompactFunc(found, func(a, b entry) bool { return a.position == b.position })
	if w.ended = len(full) == 0; w.ended {
		return found, nil
	}
	last := slices.MinFunc(full, compareEntries)
	w.cursor = entry{newest: last.newest, id: append(slices.Clone(last.id), 0)}
	beyond := slices.IndexFunc(found, func(e entry) bool { return compareEntries(e, last) > 0 })
	if beyond >= 0 {
		found = found[:beyond]
	}
	return found, nil
}

// args are what the plan's statement takes, for n entries of each stream.
func (w *walk) args(n int) []any {
	args := []any{w.cursor.newest, w.cursor.id, w.query.to, w.snapshot.head, n, w.plan.kinds, w.plan.authors, w.now}
	return append(args, w.plan.args...)
}

// load reads the events of the first n entries and keeps those that match.
func (w *walk) load(ctx context.Context, found []entry) (n int, err error) {
	events, err := w.snapshot.events(ctx, found)
	if err != nil {
		return 0, err
	}
	for i, e := range found {
		event, readable := events[e.position]
		if !readable {
			if w.unread != nil && w.exact() {
				w.unread(e.position)
			}
			continue
		}
		if event == nil {
			return i, nil
		}
		if !event.Expired(w.now) && w.filter.Matches(event) {
			w.items = append(w.items, item{entry: e, event: event})
		}
	}
	return len(found), nil
}

// events reads the events of entries, by their positions: of the first one and as many
// behind it as mostBytes allows, nil for the others. What is damaged is not in the map.
func (s *snapshot) events(ctx context.Context, found []entry) (map[int64]*wire.Event, error) {
	if len(found) == 0 {
		return nil, nil
	}
	positions := make([]int64, len(found))
	for i := range found {
		positions[i] = found[i].position
	}
	events := make(map[int64]*wire.Event, len(found))
	there := 0
	err := s.read(ctx, sqlRaw, []any{positions, mostBytes}, func(rows pgx.Rows) error {
		all, err := s.store.collect(rows)
		there = len(all)
		for _, f := range all {
			if !f.damaged {
				events[f.position] = f.event
			}
		}
		return err
	})
	if err == nil && there < len(found) {
		err = errSnapshotOld
	}
	return events, err
}

// pop lets go of the head, and counts it when it is given out.
func (w *walk) pop(given bool) {
	w.items = w.items[1:]
	if given && w.left != math.MaxInt {
		w.left--
	}
}

// record makes what callers get.
func (i *item) record() store.Record {
	return store.Record{Position: store.Position(i.position), Event: i.event}
}
