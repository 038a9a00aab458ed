package embedded

import (
	"encoding/binary"
	"fmt"
	"strings"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// The value of a log row begins with its store.EntryType:
//
//	01 event       wire form
//	02 ephemeral   wire form
//	03 removal     cause(1) target(8), wire form without content and with a signature of zeros
//	04 void        kind of void(1) first bytes of the id(8)
//	05 control     what store.Control.AppendTo makes
//
// Type, cause and kind have the numbers of package store, which are never
// given anew.

var noSignature = strings.Repeat("0", 128)

func eventRow(t store.EntryType, e *wire.Event) []byte {
	return append(append(make([]byte, 0, 1+len(e.Raw())), byte(t)), e.Raw()...)
}

func removalRow(r *store.Removal) []byte {
	row := []byte{byte(store.EntryRemoval), byte(r.Cause)}
	row = binary.BigEndian.AppendUint64(row, uint64(r.Target))
	header := r.Event.Event
	header.Sig = noSignature // the decoder wants one
	return append(row, wire.NewEvent(header).Raw()...)
}

func voidRow(kind store.VoidKind, prefix [8]byte) []byte {
	return append([]byte{byte(store.EntryVoid), byte(kind)}, prefix[:]...)
}

// typeOf returns the type of a row, 0 for one that has none.
func typeOf(row []byte) store.EntryType {
	if len(row) == 0 {
		return 0
	}
	return store.EntryType(row[0])
}

// decodeRow reads a row; known is its event when that is decoded already.
func decodeRow(position uint64, row []byte, known *wire.Event) (store.Entry, error) {
	if len(row) == 0 {
		return store.Entry{}, rowError(position, errCorrupt)
	}
	e := store.Entry{Position: store.Position(position), Type: store.EntryType(row[0])}
	var err error
	switch body := row[1:]; e.Type {
	case store.EntryEvent, store.EntryEphemeral:
		if e.Event = known; known == nil {
			e.Event, err = decodeEvent(body)
		}
		if err == nil {
			e.Prefix = store.PrefixOf(e.Event)
		}
	case store.EntryRemoval:
		err = decodeRemoval(&e, body)
	case store.EntryVoid:
		if len(body) != 9 {
			return e, rowError(position, errCorrupt)
		}
		e.Void = store.VoidKind(body[0])
		copy(e.Prefix[:], body[1:])
	case store.EntryControl:
		var ok bool
		if e.Control, ok = store.ParseControl(body); !ok {
			err = errCorrupt
		}
	default:
		err = errCorrupt
	}
	if err != nil {
		return e, rowError(position, err)
	}
	return e, nil
}

// brokenRow is what is told of a row that decodeRow has refused with err.
func brokenRow(position uint64, row []byte, err error) store.Entry {
	e := store.Entry{Position: store.Position(position)}
	var body []byte
	if len(row) > 0 {
		e.Type, body = store.EntryType(row[0]), row[1:]
	}
	why := store.ErrDamaged
	switch {
	case e.Type > store.EntryControl:
		why = store.ErrNewer
	case e.Type == store.EntryRemoval && len(body) > 9:
		body = body[9:]
	}
	e.Broken = store.Salvage(fmt.Errorf("%w: %w", why, err), body)
	return e
}

func decodeRemoval(e *store.Entry, body []byte) error {
	if len(body) < 9 {
		return errCorrupt
	}
	event, err := decodeEvent(body[9:])
	if err != nil {
		return err
	}
	target := store.Position(binary.BigEndian.Uint64(body[1:]))
	e.Removal = store.NewRemoval(store.RemovalCause(body[0]), target, event)
	e.Prefix = store.PrefixOf(event)
	return nil
}

// decodeEvent reads a stored wire form.
func decodeEvent(raw []byte) (*wire.Event, error) {
	e, err := wire.DecodeEvent(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCorrupt, err)
	}
	return e, nil
}

func rowError(position uint64, err error) error {
	return fmt.Errorf("log row %d: %w", position, err)
}
