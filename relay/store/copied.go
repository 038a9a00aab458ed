package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"fencepost/lifecycle/fence"
)

// ErrCopy is the decision about a Copied that does not go on where the last one ended,
// or that begins in a store that is not empty.
var ErrCopy = errors.New("the copy does not continue what is here")

// ErrCopying says that a store holds a part of another one.
var ErrCopying = errors.New("a copy into this store has not ended")

var errCopied = errors.New("what is to be copied is malformed")

// Copied is a part of what another store holds. A Write that has it has nothing else.
// The rows take positions, the marks are remembered and After is kept, in one commit;
// nothing is decided: an event is stored whatever the marks say, and a deletion request
// removes nothing, since it has done so where it comes from. Refused with ErrCopy when
// Before is not what is kept, and when Before is zero in a store that has log rows. So a
// copy that was interrupted at any moment goes on without a gap and without a repetition.
// A Before with nothing beside it withdraws the copy, of which the caller knows that it has
// written nothing: the store is one like any other again.
type Copied struct {
	Before, After Copying
	Rows          []Entry // stored events and control rows; their positions are not looked at
	Marks         []Mark
}

// Copying is how far a copy into a store is; the zero value when there was none.
type Copying struct {
	Token string // in the language of package transfer
	Done  bool
}

// Mark is what a store remembers beside events and control rows, and refuses events by.
type Mark struct {
	Kind  MarkKind
	Key   []byte
	Until int64  // created_at in Unix seconds, of MarkAddress and MarkKey; 0 for the others
	Value []byte // of MarkFence; nil for the others
}

// MarkKind says what a mark is about. Ids and public keys are their 32 bytes, text is
// AppendText's.
type MarkKind uint8

const (
	MarkTomb    MarkKind = iota + 1 // id pubkey: pubkey deleted id
	MarkAddress                     // kind(2, big-endian) pubkey text(d): versions up to Until are deleted
	MarkBan                         // id: banned
	MarkKey                         // pubkey: what an Erasure of it and Until selects is refused
	MarkGroup                       // text(group) pubkey: what an Erasure of it with this Self selects is refused; zeros for no Self
	MarkFence                       // owner, name: the fence of a stream, as FenceMark makes it
	markEnd
)

// Compare orders marks by kind and key, as ReadMarks returns them.
func (m Mark) Compare(o Mark) int {
	if c := cmp.Compare(m.Kind, o.Kind); c != 0 {
		return c
	}
	return bytes.Compare(m.Key, o.Key)
}

const (
	maxText = 64   // bytes of a value that is kept as it is
	hashed  = 0xff // stands before the SHA-256 of a longer one
)

// AppendText appends the form of a value in keys: the length(1) and the bytes of up to
// 64, or ff and the SHA-256 of more. No form is the beginning of another.
func AppendText(dst []byte, value string) []byte {
	if len(value) <= maxText {
		return append(append(dst, byte(len(value))), value...)
	}
	sum := sha256.Sum256([]byte(value))
	return append(append(dst, hashed), sum[:]...)
}

// AddressKey returns the key of a MarkAddress.
func AddressKey(kind int, pubkey [32]byte, d string) []byte {
	key := binary.BigEndian.AppendUint16(make([]byte, 0, 2+32+1+maxText), uint16(kind))
	return AppendText(append(key, pubkey[:]...), d)
}

// FenceMark returns the mark of a fence that exists. Its lease begins anew where it is
// copied to: nobody knows how long that takes.
func FenceMark(stream fence.Stream, s fence.State) Mark {
	key, _ := hex.DecodeString(stream.Owner) // Validate has seen that it is one
	s.Until = time.Unix(0, 0)
	return Mark{Kind: MarkFence, Key: append(key, stream.Name...), Value: s.Append(nil)}
}

// Fence returns what FenceMark was given, with a lease that begins at now.
func (m Mark) Fence(now time.Time) (stream fence.Stream, s fence.State, err error) {
	if len(m.Key) <= 32 {
		return stream, s, errCopied
	}
	stream = fence.Stream{Owner: hex.EncodeToString(m.Key[:32]), Name: string(m.Key[32:])}
	if err := stream.Validate(); err != nil {
		return stream, s, err
	}
	s, err = fence.Decode(m.Value)
	return stream, s.Renewed(now), err
}

// validate returns an error for what no store holds.
func (c *Copied) validate() error {
	withdraws := !c.After.Done && c.Before.Token != "" && len(c.Rows)+len(c.Marks) == 0
	if c.Before.Done || c.After.Token == "" && !withdraws {
		return errCopied
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		event := r.Type == EntryEvent && r.Event != nil
		if control := r.Type == EntryControl && r.Control != nil; !event && !control {
			return errCopied
		}
	}
	for _, m := range c.Marks {
		if !m.wellFormed() {
			return errCopied
		}
	}
	return nil
}

func (m Mark) wellFormed() bool {
	if m.Kind == 0 || m.Kind >= markEnd {
		return false
	}
	switch m.Kind {
	case MarkTomb:
		return len(m.Key) == 64
	case MarkAddress:
		return len(m.Key) > 2+32 && isText(m.Key[2+32:])
	case MarkFence:
		_, _, err := m.Fence(time.Time{})
		return err == nil
	case MarkGroup:
		return len(m.Key) > 32 && isText(m.Key[:len(m.Key)-32])
	default:
		return len(m.Key) == 32
	}
}

// isText reports whether b is what AppendText makes.
func isText(b []byte) bool {
	if b[0] == hashed {
		return len(b) == 1+sha256.Size
	}
	return b[0] <= maxText && len(b) == 1+int(b[0])
}

// Merge returns the first, most at most, of two lists of rows, each in position order.
func Merge(a, b []Entry, most int) []Entry {
	out := make([]Entry, 0, min(most, len(a)+len(b)))
	for len(out) < most && len(a)+len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && a[0].Position < b[0].Position {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return out
}
