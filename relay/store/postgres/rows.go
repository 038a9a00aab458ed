package postgres

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// The body of a log row: of an ephemeral event its wire form, of a removal the wire
// form without content and with a signature of zeros, of a control row what
// store.Control.AppendTo makes.

var errCorrupt = errors.New("row is damaged")

var noSignature = strings.Repeat("0", 128)

func rowBody(e *store.Entry) []byte {
	switch e.Type {
	case store.EntryEphemeral:
		return e.Event.Raw()
	case store.EntryRemoval:
		header := e.Removal.Event.Event
		header.Sig = noSignature // the decoder wants one
		return wire.NewEvent(header).Raw()
	case store.EntryControl:
		return e.Control.AppendTo(nil)
	default:
		return nil
	}
}

// rowVersion is the form of rows that this program knows.
const rowVersion = 1

// rawRow is a log row as the database has it; body is the wire form of a stored event.
type rawRow struct {
	position int64
	version  int16
	kind     int16
	detail   int16
	target   int64
	prefix   []byte
	body     []byte
}

// decode makes the entry; known is its event when that is decoded already.
func (r *rawRow) decode(known *wire.Event) (store.Entry, error) {
	e := store.Entry{Position: store.Position(r.position), Type: store.EntryType(r.kind)}
	if r.version > rowVersion || e.Type > store.EntryControl {
		return e, fmt.Errorf("log row %d: %w", r.position, store.ErrNewer)
	}
	var err error
	switch copy(e.Prefix[:], r.prefix); e.Type {
	case store.EntryEvent, store.EntryEphemeral:
		if e.Event = known; known == nil {
			e.Event, err = decodeEvent(r.body)
		}
	case store.EntryRemoval:
		var event *wire.Event
		if event, err = decodeEvent(r.body); err == nil {
			e.Removal = store.NewRemoval(store.RemovalCause(r.detail), store.Position(r.target), event)
		}
	case store.EntryVoid:
		e.Void = store.VoidKind(r.detail)
	case store.EntryControl:
		var ok bool
		if e.Control, ok = store.ParseControl(r.body); !ok {
			err = errCorrupt
		}
	default:
		err = errCorrupt
	}
	if err != nil {
		return e, fmt.Errorf("log row %d: %w", r.position, err)
	}
	return e, nil
}

// routing is what the table of events knows of a row beside its wire form.
type routing struct {
	kind            int // negative: nothing
	pubkey, address []byte
}

// broken is what is told of a row that decode has refused with err.
func (r *rawRow) broken(err error, t *routing) store.Entry {
	e := store.Entry{Position: store.Position(r.position), Type: store.EntryType(r.kind)}
	copy(e.Prefix[:], r.prefix)
	if !errors.Is(err, store.ErrNewer) {
		err = fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	e.Broken = store.Salvage(err, r.body)
	if t.kind >= 0 {
		e.Broken.Kind, e.Broken.PubKey = t.kind, hex.EncodeToString(t.pubkey)
		if len(t.address) > 0 {
			e.Broken.Aggregate = coordinate(t)
		}
	}
	return e
}

// coordinate makes store.Entry.Aggregate of an address: kind(2) pubkey(32) text(d).
func coordinate(t *routing) string {
	at := fmt.Sprintf("%d:%x", t.kind, t.pubkey)
	if wire.ClassOf(t.kind) != wire.Addressable {
		return at
	}
	d := t.address[2+32:]
	if d[0] == hashed {
		return fmt.Sprintf("%s:%x", at, d[1:])
	}
	return at + ":" + string(d[1:])
}

func decodeEvent(raw []byte) (*wire.Event, error) {
	e, err := wire.DecodeEvent(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCorrupt, err)
	}
	return e, nil
}
