package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"fencepost/relay/store"
	"fencepost/relay/store/commit"
)

// PutDeadLetter implements store.Letters.
func (s *Store) PutDeadLetter(ctx context.Context, l store.DeadLetter) error {
	r := &request{Letter: &commit.LetterChange{DeadLetter: l}}
	s.queue.Do(ctx, r)
	return r.Err
}

// TakeDeadLetter implements store.Letters.
func (s *Store) TakeDeadLetter(ctx context.Context, replica string, at store.Position) (bool, error) {
	r := &request{Letter: &commit.LetterChange{DeadLetter: store.DeadLetter{Replica: replica, Position: at}, Take: true}}
	s.queue.Do(ctx, r)
	return r.Removed > 0, r.Err
}

// DeadLetters implements store.Letters.
func (s *Store) DeadLetters(ctx context.Context, limit int) ([]store.DeadLetter, error) {
	snap, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	out, err := snap.deadLetters(ctx, limit)
	return out, errors.Join(err, snap.Close())
}

func (s *snapshot) deadLetters(ctx context.Context, limit int) (out []store.DeadLetter, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readyLocked(ctx); err != nil {
		return nil, err
	}
	err = eachLetter(s.view.snap, []byte{spaceLetter}, func(key, value []byte) error {
		if len(out) == limit {
			return errEnough
		}
		l, err := decodeLetter(key, value)
		out = append(out, l)
		return err
	})
	return out, err
}

// letter carries out a change, and returns how many letters it took. So many are few,
// and put so seldom, that they are counted each time.
func (t *txn) letter(c *commit.LetterChange) (taken int, err error) {
	prefix := appendText([]byte{spaceLetter}, c.Replica)
	key := binary.BigEndian.AppendUint64(bytes.Clone(prefix), uint64(c.Position))
	if c.Take {
		_, there, err := t.get(key)
		if there && err == nil {
			t.decide(key, nil)
			taken = 1
		}
		return taken, err
	}
	var first []byte
	n := 0
	err = eachLetter(t.db, prefix, func(key, _ []byte) error {
		if n++; first == nil {
			first = bytes.Clone(key)
		}
		return nil
	})
	if n >= store.MaxDeadLetters {
		t.decide(first, nil)
	}
	value := binary.BigEndian.AppendUint32(nil, uint32(c.Attempts))
	value = binary.BigEndian.AppendUint64(value, uint64(c.At.UnixMicro()))
	t.decide(key, append(value, c.Class...))
	return 0, err
}

var errEnough = errors.New("enough")

// eachLetter calls fn with each letter whose key begins with prefix; neither slice
// outlives the call.
func eachLetter(r pebble.Reader, prefix []byte, fn func(key, value []byte) error) (err error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: []byte{spaceLetter + 1}})
	if err != nil {
		return fmt.Errorf("read database: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for it.First(); it.Valid() && bytes.HasPrefix(it.Key(), prefix); it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := fn(it.Key(), value); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return it.Error()
}

// decodeLetter reads a letter. A replica's name that is too long for a key is lost.
func decodeLetter(key, value []byte) (l store.DeadLetter, err error) {
	if len(key) < 2+8 || len(value) < 4+8 {
		return l, fmt.Errorf("dead letter: %w", errCorrupt)
	}
	name := key[2 : len(key)-8]
	if l.Replica = string(name); key[1] == hashed {
		l.Replica = fmt.Sprintf("%x", name)
	}
	l.Position = store.Position(beUint64(key[len(key)-8:]))
	l.Attempts = int(binary.BigEndian.Uint32(value))
	l.At = time.UnixMicro(int64(beUint64(value[4:])))
	l.Class = string(value[12:])
	return l, nil
}
