package embedded

import (
	"context"
	"errors"
	"io"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// pauseAfter is how many entries without a match a page looks at once it has a
// record. Then it is given out as it is, so that no record waits for a long scan.
const pauseAfter = 256

// mostBytes bounds the wire forms of a page, in bytes, but for the last one: a reader who
// does not read keeps them for as long as he is waited for.
const mostBytes = 512 << 10

// rows is a store.Rows. The snapshot's mutex guards it.
type rows struct {
	snapshot *snapshot
	reader   *reader
	ranking  *ranking
	union    union
	maxTotal int  // 0 is no bound
	unasked  bool // a filter has a limit of 0

	given int
	hint  wire.Hint // found out at the end
	err   error     // what Next returned last, if anything; it stays
}

// Next implements store.Rows.
func (r *rows) Next(ctx context.Context, dst []store.Record, limit int) ([]store.Record, error) {
	r.snapshot.mu.Lock()
	defer r.snapshot.mu.Unlock()
	if err := r.snapshot.readyLocked(ctx); err != nil {
		return dst, err
	}
	if r.err != nil {
		return dst, r.err
	}
	out, err := r.page(ctx, dst, limit)
	if releaseErr := r.reader.release(); releaseErr != nil {
		err = releaseErr
	}
	if r.err = err; err != nil {
		return dst, err
	}
	return out, nil
}

// page appends up to limit records; io.EOF when there was none. Whether a limit
// hides more is looked for after the last page, not before it.
func (r *rows) page(ctx context.Context, dst []store.Record, limit int) ([]store.Record, error) {
	before, idle, bytes := len(dst), 0, 0
	searched := limit
	if r.maxTotal > 0 {
		searched = min(limit, r.maxTotal-r.given)
	}
	dst, err := r.ranking.next(ctx, dst, searched)
	if r.given += len(dst) - before; err != nil || len(dst) > before {
		return dst, err
	}
	for len(dst)-before < limit && bytes < mostBytes && (len(dst) == before || idle < pauseAfter) {
		next, s, err := r.step(ctx)
		if err != nil {
			return dst, err
		}
		if s == ended {
			break
		}
		if s == looked {
			idle++
			continue
		}
		dst = append(dst, next)
		bytes += len(next.Event.Raw())
	}
	if len(dst) > before {
		return dst, nil
	}
	if r.ranking.More() {
		r.hint = wire.HintMore
		return dst, io.EOF
	}
	if r.hint, err = r.union.hint(ctx); err != nil {
		return dst, err
	}
	return dst, io.EOF
}

// step does a bounded piece of work on the way to the next record.
func (r *rows) step(ctx context.Context) (next store.Record, s state, err error) {
	if r.maxTotal > 0 && r.given == r.maxTotal {
		return next, ended, nil
	}
	found, s, err := r.union.step(ctx)
	if err != nil || s != matched {
		return next, s, err
	}
	r.given++
	return store.Record{Position: store.Position(found.position), Event: found.event}, matched, nil
}

// Hint implements store.Rows.
func (r *rows) Hint() wire.Hint {
	r.snapshot.mu.Lock()
	defer r.snapshot.mu.Unlock()
	if !errors.Is(r.err, io.EOF) || r.unasked && r.hint == wire.HintFinish {
		return wire.HintUnknown
	}
	return r.hint
}

// Close implements store.Rows; between two pages there is nothing to give back.
func (r *rows) Close() error { return nil }
