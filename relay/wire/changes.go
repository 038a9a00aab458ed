package wire

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// Resync is the prefix of an ERR after which the client has to fetch everything
// anew: what it has cannot be continued.
const Resync Prefix = "resync"

// ChangesMessage is ["CHANGES", id, {...}], after the draft NIP-CF: a filter whose
// since is a position and not a time.
type ChangesMessage struct {
	ID     string
	Filter *Filter // without since, until and limit

	Since    Cursor
	Limit    int64 // changes that are wanted before EOSE, when HasLimit
	HasLimit bool
	Live     bool // go on after EOSE
	Removed  bool // tell what was removed as well
}

func (*ChangesMessage) verb() string { return "CHANGES" }

// Cursor is the position after which a feed goes on, with what its holder knows of
// the log that gave it. The zero Cursor is the beginning of the log, whichever.
type Cursor struct {
	Position uint64
	Epoch    string // "": not known, the position alone must do
	Prefix   [8]byte
	IsToken  bool // Prefix is set: the first bytes of the id at Position
	Foreign  bool // it is not one of a relay like this one; nothing else is set
}

// CursorAt returns the cursor of a row of that epoch that is about the event of that id.
func CursorAt(epoch string, position uint64, id string) Cursor {
	c := Cursor{Epoch: epoch, Position: position, IsToken: true}
	// What is no id gives a prefix that no relay has given out.
	_, _ = hex.Decode(c.Prefix[:], []byte(id[:min(len(id), hex.EncodedLen(len(c.Prefix)))]))
	return c
}

// maxEpoch is the length of the longest epoch, in bytes.
const maxEpoch = 64

// Token returns the cursor as one text: "epoch:position:prefix", the prefix being the
// first 16 hex digits of the id of the event that the row at the position is about,
// zeros when it is about none. A client may make it of an EVENT or REMOVED itself.
func (c Cursor) Token() string {
	return c.Epoch + ":" + strconv.FormatUint(c.Position, 10) + ":" + hex.EncodeToString(c.Prefix[:])
}

// ParseToken reads what Token returns, and reports whether it is that.
func ParseToken(s string) (c Cursor, ok bool) {
	epoch, rest, ok := strings.Cut(s, ":")
	number, prefix, more := strings.Cut(rest, ":")
	if !ok || !more || epoch == "" || len(epoch) > maxEpoch || len(prefix) != hex.EncodedLen(len(c.Prefix)) {
		return Cursor{}, false
	}
	at, err := strconv.ParseUint(number, 10, 63)
	if err != nil {
		return Cursor{}, false
	}
	if _, err := hex.Decode(c.Prefix[:], []byte(prefix)); err != nil {
		return Cursor{}, false
	}
	c.Position, c.Epoch, c.IsToken = at, epoch, true
	return c, c.Token() == s
}

// Mark says how far a feed has been looked through.
type Mark struct {
	Cursor      // of the last row that was looked at, with its Prefix
	More   bool // there is more behind it, and the feed is over
}

// Log says which positions a log has: Floor to Head of Epoch, an epoch of at most 64
// bytes.
type Log struct {
	Epoch       string
	Floor, Head uint64
}

// Change is one change of a feed.
type Change struct {
	Position uint64
	Event    *Event
	Removed  bool // the event was removed; it is a header
}

// AppendChangesPrefix appends what stands before a change in its frame for sub.
func AppendChangesPrefix(dst []byte, sub string) []byte {
	return append(AppendString(append(dst, `["CHANGES",`...), sub), ',')
}

// AppendTo appends the rest of the frame behind its prefix: "EVENT", position, event
// or "REMOVED", position, id.
func (c Change) AppendTo(dst []byte) []byte {
	if c.Removed {
		dst = strconv.AppendUint(append(dst, `"REMOVED",`...), c.Position, 10)
		return append(append(append(dst, `,"`...), c.Event.ID...), `"]`...)
	}
	dst = strconv.AppendUint(append(dst, `"EVENT",`...), c.Position, 10)
	return append(append(append(dst, ','), c.Event.raw...), ']')
}

// Len returns how many bytes AppendTo appends.
func (c Change) Len() int {
	digits := 1
	for n := c.Position; n > 9; n /= 10 {
		digits++
	}
	if c.Removed {
		return len(`"REMOVED",`) + digits + len(`,""]`) + len(c.Event.ID)
	}
	return len(`"EVENT",`) + digits + len(`,]`) + len(c.Event.raw)
}

// AppendChangesEOSE appends ["CHANGES", sub, "EOSE", last_position, {...}] with the
// epoch, the mark as a token, and "more": true.
func AppendChangesEOSE(dst []byte, sub string, m Mark) []byte {
	dst = append(AppendChangesPrefix(dst, sub), `"EOSE",`...)
	dst = strconv.AppendUint(dst, m.Position, 10)
	dst = AppendString(append(dst, `,{"epoch":`...), m.Epoch)
	dst = AppendString(append(dst, `,"token":`...), m.Token())
	if m.More {
		dst = append(dst, `,"more":true`...)
	}
	return append(dst, '}', ']')
}

// AppendChangesErr appends ["CHANGES", sub, "ERR", reason], and with log also
// {"epoch", "floor", "head"}.
func AppendChangesErr(dst []byte, sub string, r Reason, log *Log) []byte {
	dst = AppendString(append(AppendChangesPrefix(dst, sub), `"ERR",`...), r.String())
	if log != nil {
		dst = AppendString(append(dst, `,{"epoch":`...), log.Epoch)
		dst = strconv.AppendUint(append(dst, `,"floor":`...), log.Floor, 10)
		dst = append(strconv.AppendUint(append(dst, `,"head":`...), log.Head, 10), '}')
	}
	return append(dst, ']')
}
