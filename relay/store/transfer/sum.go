package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"

	"fencepost/relay/store"
)

// Count is how much a store holds.
type Count struct {
	Events   int
	Controls int // control rows
	Marks    int // of what refuses events
}

func (c *Count) add(rows []store.Entry, marks []store.Mark) {
	for i := range rows {
		if rows[i].Control != nil {
			c.Controls++
		} else {
			c.Events++
		}
	}
	c.Marks += len(marks)
}

func (c Count) String() string {
	return fmt.Sprintf("%d events, %d control rows, %d marks", c.Events, c.Controls, c.Marks)
}

// Sum is what two stores have in common when they hold the same in the same order,
// wherever it stands.
type Sum struct {
	Count
	Digest string // SHA-256, hex
}

// SumOf reads the whole store. told, unless it is nil, is called now and then.
func SumOf(ctx context.Context, s Source, told func(Count)) (sum Sum, err error) {
	d := digest{sha256.New()}
	for after := store.Position(0); ; {
		rows, err := s.ReadStored(ctx, after, partRows)
		if err != nil {
			return sum, fmt.Errorf("read rows after %d: %w", after, err)
		}
		if len(rows) == 0 {
			break
		}
		for i := range rows {
			d.row(&rows[i])
		}
		after = rows[len(rows)-1].Position
		sum.add(rows, nil)
		sum.tell(told)
	}
	for after := (store.Mark{}); ; {
		marks, err := s.ReadMarks(ctx, after, partRows)
		if err != nil {
			return sum, fmt.Errorf("read marks: %w", err)
		}
		if len(marks) == 0 {
			break
		}
		for _, m := range marks {
			d.mark(m)
		}
		after = marks[len(marks)-1]
		sum.add(nil, marks)
		sum.tell(told)
	}
	sum.Digest = hex.EncodeToString(d.Sum(nil))
	return sum, nil
}

func (s *Sum) tell(told func(Count)) {
	if told != nil {
		told(s.Count)
	}
}

// Verify reads both stores whole. ErrDiffers when they do not hold the same.
func Verify(ctx context.Context, from, to Source, told func(Count)) (original, copied Sum, err error) {
	if original, err = SumOf(ctx, from, told); err != nil {
		return original, copied, fmt.Errorf("original: %w", err)
	}
	if copied, err = SumOf(ctx, to, told); err != nil {
		return original, copied, fmt.Errorf("copy: %w", err)
	}
	if original != copied {
		err = ErrDiffers
	}
	return original, copied, err
}

// digest is fed with fields, each with its length before it, so that nothing can move
// from one to the next unseen.
type digest struct{ hash.Hash }

func (d digest) field(b []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(b)))
	_, _ = d.Write(length[:]) // a hash takes everything
	_, _ = d.Write(b)
}

func (d digest) row(e *store.Entry) {
	d.field([]byte{byte(e.Type)})
	if e.Control == nil {
		d.field(e.Event.Raw())
		return
	}
	d.field(binary.BigEndian.AppendUint64(nil, uint64(len(e.Control.Scopes))))
	for _, scope := range e.Control.Scopes {
		d.field([]byte(scope))
	}
	d.field(e.Control.Data)
}

func (d digest) mark(m store.Mark) {
	d.field([]byte{0xff, byte(m.Kind)}) // no type of a row
	d.field(m.Key)
	d.field(binary.BigEndian.AppendUint64(nil, uint64(m.Until)))
	d.field(m.Value)
}
