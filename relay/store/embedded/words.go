package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"fencepost/relay/store"
)

// wordsRows is how many log rows one batch of the making of the index looks at.
const wordsRows = 1000

// words is how far the index of words is: it holds every stored event up to upTo, and
// when it is done every one that there is. Once it is begun every commit keeps it.
type words struct {
	begun, done bool
	upTo        uint64
}

// prefix of an index stream; a suffix completes a key.
func wordPrefix(dst []byte, word string) []byte { return appendText(append(dst, spaceWord), word) }

// wordKeys calls yield with each key of the index of words; the slice is reused.
func (r *record) wordKeys(yield func(key []byte)) {
	var space [192]byte
	for _, w := range r.event.Words() {
		yield(appendSuffix(wordPrefix(space[:0], w), r.at, r.id))
	}
}

func loadWords(r pebble.Reader) (w words, err error) {
	value, ok, err := getValue(r, keyWords)
	if err != nil || !ok {
		return w, err
	}
	return parseWords(value)
}

func parseWords(value []byte) (w words, err error) {
	if len(value) != 9 || value[0] > 1 {
		return w, fmt.Errorf("index of words: %w", errCorrupt)
	}
	return words{begun: true, done: value[0] == 1, upTo: beUint64(value[1:])}, nil
}

func (w words) value() []byte {
	value := []byte{0}
	if w.done {
		value[0] = 1
	}
	return binary.BigEndian.AppendUint64(value, w.upTo)
}

// prepareWords makes the index of words complete, or takes it away, as the options want
// it, and returns whether it is complete and wanted. What it was interrupted in goes on
// where it was. A database that cannot be written stays as it is.
func prepareWords(e *engine, o Options) (complete bool, err error) {
	w, err := loadWords(e.db)
	if err != nil || e.health.fatal() != nil || w.done == o.Search && w.begun == o.Search {
		return o.Search && w.done, err
	}
	if !o.Search {
		return false, dropWords(e)
	}
	o.Logger.Info("index of words is being made")
	for !w.done {
		if w, err = indexWords(e, w); err != nil {
			return false, fmt.Errorf("make the index of words: %w", err)
		}
	}
	o.Logger.Info("index of words is made", "position", w.upTo)
	return true, nil
}

func dropWords(e *engine) error {
	b := e.db.NewBatch()
	defer func() { _ = b.Close() }() // only gives memory back
	if err := errors.Join(
		b.DeleteRange([]byte{spaceWord}, []byte{spaceWord + 1}, nil), b.Delete(keyWords, nil),
	); err != nil {
		return err
	}
	return e.commit(b)
}

// indexWords takes one step.
func indexWords(e *engine, w words) (_ words, err error) {
	b := e.db.NewBatch()
	defer func() { _ = b.Close() }() // only gives memory back
	it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: logKey(w.upTo + 1), UpperBound: []byte{spaceLog + 1}})
	if err != nil {
		return w, err
	}
	n := 0
	for it.First(); it.Valid() && n < wordsRows && b.Len() < 8<<20; it.Next() {
		value, err := it.ValueAndErr()
		if err == nil {
			w.upTo = beUint64(it.Key()[1:])
			err = indexRow(b, w.upTo, value)
		}
		if err != nil {
			return w, errors.Join(err, it.Close())
		}
		n++
	}
	w.begun, w.done = true, !it.Valid()
	if err := errors.Join(it.Error(), it.Close(), b.Set(keyWords, w.value(), nil)); err != nil {
		return w, err
	}
	return w, e.commit(b)
}

// indexRow writes the words of a log row if it is a stored event.
func indexRow(b *pebble.Batch, position uint64, value []byte) error {
	if len(value) == 0 || store.EntryType(value[0]) != store.EntryEvent {
		return nil
	}
	row, err := decodeRow(position, value, nil)
	if errors.Is(err, errCorrupt) {
		return nil // it has no words to be found by
	}
	if err != nil {
		return err
	}
	r, err := newRecord(row.Event)
	if err != nil {
		return rowError(position, err)
	}
	expires, _ := row.Event.Expires()
	entry := appendEntry(nil, position, r.kind, expires)
	r.wordKeys(func(key []byte) { err = errors.Join(err, b.Set(key, entry, nil)) })
	return err
}

// Searches implements store.Store.
func (s *Store) Searches() bool { return s.opt.Search }
