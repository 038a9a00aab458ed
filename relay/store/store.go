package store

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"fencepost/lifecycle/fence"
	"fencepost/relay/wire"
)

// Position is a place in the log: dense, in commit order, from 1. Zero stands
// before the first row.
type Position uint64

// Epoch names one history of the log. It is random and changes when a history
// is restored or copied.
type Epoch string

// Store is what both stores and the fake promise; storetest holds every one of
// them to it. All methods may be called from any goroutine.
type Store interface {
	// Append commits events together and blocks until they are durable (E1).
	// It returns one outcome a write, in order. Events of one call, and of one
	// caller's successive calls, take positions in the order given. Several
	// calls share one commit. Ephemeral events take a position as well.
	Append(ctx context.Context, writes []Write) []Outcome

	// Snapshot returns a view that holds everything up to its Applied position
	// and nothing later. It must be closed.
	Snapshot(ctx context.Context) (Snapshot, error)

	// ReadLog returns up to max committed rows after a position, in position
	// order and without a hole. An empty result means that nothing follows yet. A row
	// whose body cannot be read is among them and has Broken; an error is the store's.
	// ErrFloor when rows after that position were removed by retention.
	ReadLog(ctx context.Context, after Position, max int) ([]Entry, error)

	// Changed returns a channel that receives after commits. Wake-ups are
	// coalesced; it is never closed. One receiver.
	Changed() <-chan struct{}

	// Log describes the log as of now.
	Log(ctx context.Context) (LogInfo, error)

	// Sweep removes events that have expired at now (NIP-40) and voids
	// ephemeral rows older than EphemeralAge, oldest due first. It returns how
	// many rows it voided; removal rows that it added are not counted. An event that
	// cannot be read is voided without one: who may know of it cannot be told.
	Sweep(ctx context.Context, now time.Time) (int, error)

	// Trim removes rows of the log that keep does not cover at now, oldest first, moves the
	// floor in the same transaction, and returns it. It stops before an ephemeral event,
	// which Sweep has to void first. Stored events stay stored, where they are, and so do
	// control rows: they are found by queries and ReadControl as before. It takes several
	// commits; one that breaks off leaves no hole above the floor. The caller keeps more
	// than those who follow the log lag behind.
	Trim(ctx context.Context, keep Retention, now time.Time) (floor Position, err error)

	// ReadControl returns up to max control rows after a position, in position
	// order, without a look at the rows between them. They are kept for ever.
	ReadControl(ctx context.Context, after Position, max int) ([]Entry, error)

	// Erase removes up to max stored events that x selects, those first that come
	// first in an answer, with a removal row for each that can be read. It returns how many it removed:
	// fewer than max means that none is left of those that were stored when it was
	// called. It takes several commits, and after an error can be called again.
	Erase(ctx context.Context, x Erasure, max int) (int, error)

	// Fence returns the fence of a stream as it is, the zero State for an absent one,
	// and the time of the clock by which its lease is judged.
	Fence(ctx context.Context, stream fence.Stream) (fence.State, time.Time, error)

	// Searches reports whether queries find events by their words (NIP-50) without a look
	// at everything. A store that does not answers filters that search all the same, but
	// not best first, and takes as long as it takes.
	Searches() bool

	// Close waits for running commits, then releases the store and whatever
	// snapshots are still open. Calls that come later fail with ErrClosed; a
	// second Close does nothing.
	Close() error
}

// Outcome says what became of one Write. Err is nil when it is durable: Event, or
// without one the first control row, has taken Position, and the last row of the
// write has taken Last; each is 0 where there is no such row. ErrDuplicate carries
// the first position, ErrMoved the present epoch of a scope that moved, the latest
// of them; the other sentinels say why nothing was written. Anything else is an
// internal failure: nothing is acknowledged or visible, and only a commit that broke
// during its fsync may turn out to be stored after all, when the store is opened again.
type Outcome struct {
	Position Position
	Last     Position
	Frame    Frame
	Err      error
}

// Decisions of Append.
var (
	ErrDuplicate  = errors.New("already stored")
	ErrSuperseded = errors.New("a newer version is stored")
	ErrDeleted    = errors.New("deleted by its author")
	ErrExpired    = errors.New("expired")
)

// Conditions of a store.
var (
	ErrClosed = errors.New("store is closed")
	ErrFloor  = errors.New("position is below the floor of the log")
	ErrInUse  = errors.New("store is in use by another process")
	ErrSchema = errors.New("store has another schema version")
)

// LogInfo describes a log: rows Floor..Head can be read (Floor is 1 in a log
// that lost nothing, Head is 0 in an empty one).
type LogInfo struct {
	Epoch Epoch
	Floor Position
	Head  Position

	Control Position // the newest control row, 0 for none
}

// EntryType says what a log row holds.
type EntryType uint8

const (
	EntryEvent     EntryType = iota + 1 // a stored event
	EntryEphemeral                      // an ephemeral event, voided after a minute
	EntryRemoval                        // an earlier event was removed
	EntryVoid                           // payload is gone; position, id prefix and Void remain
	EntryControl                        // access or configuration changed; clients never see it
)

// EphemeralAge is how long the log keeps the payload of an ephemeral event.
const EphemeralAge = time.Minute

// VoidKind says why a row lost its payload.
type VoidKind uint8

const (
	VoidReplaced  VoidKind = iota + 1 // a newer version of the address was stored
	VoidRemoved                       // a removal row follows later in the log
	VoidEphemeral                     // it was ephemeral and a minute has passed
)

// Entry is one row of the log.
type Entry struct {
	Position Position
	Type     EntryType
	Event    *wire.Event // set for EntryEvent and EntryEphemeral
	Removal  *Removal    // set for EntryRemoval
	Control  *Control    // set for EntryControl
	Void     VoidKind    // set for EntryVoid
	Broken   *Broken     // set instead of Event, Removal and Control when the body cannot be read
	Prefix   [8]byte     // first bytes of the id of the event concerned
}

// Removal says that the event at Target is gone. Event keeps only what filters
// look at: its content and signature are empty. A version that was replaced by
// a newer one is voided without a removal row: the newer event says it all.
type Removal struct {
	Cause  RemovalCause
	Target Position
	Event  *wire.Event
}

// NewRemoval makes the removal of e, which stands at target.
func NewRemoval(cause RemovalCause, target Position, e *wire.Event) *Removal {
	header := e.Event
	header.Content, header.Sig = "", ""
	return &Removal{Cause: cause, Target: target, Event: wire.NewEvent(header)}
}

// PrefixOf returns the first 8 bytes of the event's id.
func PrefixOf(e *wire.Event) (prefix [8]byte) {
	// A verified id is hex; of any other only the decodable start is kept.
	_, _ = hex.Decode(prefix[:], []byte(e.ID[:min(len(e.ID), 16)]))
	return prefix
}

// RemovalCause says why an event was removed.
type RemovalCause uint8

const (
	CauseDeleted  RemovalCause = iota + 1 // NIP-09 request of its author
	CauseExpired                          // NIP-40
	CauseVanished                         // NIP-62
	CauseOperator                         // by hand
)

// Snapshot is a stable view of the store. Not safe for concurrent use. An event whose
// stored form cannot be read is in no answer, and fails none; the store logs and counts it.
// A Count for which events need not be read counts it as well.
type Snapshot interface {
	// Applied is the position up to which the snapshot holds the log.
	Applied() Position
	// Control is the newest control row at or below Applied, 0 for none.
	Control() Position
	// Query returns the stored events that match any of the filters: newest
	// created_at first, ties by lowest id, each once. Each filter contributes
	// at most its own limit (or opt.DefaultLimit). Expired events are left out.
	// Where filters search, in a store that Searches, the best come first: a filter
	// contributes those of its newest SearchDepth matches, or of as many as its limit,
	// that have the highest score (wire.Filter.Score); the answer goes by the highest score
	// that an event was contributed with, ties and what has no score in the order above.
	Query(ctx context.Context, filters []*wire.Filter, opt QueryOptions) (Rows, error)
	// Count returns how many distinct stored events match (NIP-45) and are visible, as
	// in QueryOptions, limits aside. It counts to at most max (0 is no bound); exact
	// is false when there are more.
	Count(ctx context.Context, filters []*wire.Filter, max int, visible func(*wire.Event) bool) (n int, exact bool, err error)
	// Prefixed returns up to max stored events whose id begins with these lower-case
	// hex digits, of which there is an even number of at least 8; by id, and expired
	// ones too. Anything else is the beginning of none.
	Prefixed(ctx context.Context, prefix string, max int) ([]Record, error)
	Close() error
}

// SearchDepth is among how many of the newest matches of a filter a search finds the best
// at least.
const SearchDepth = 1000

// QueryOptions bound a query.
type QueryOptions struct {
	MaxLimit     int // each filter's limit is clamped to this; 0 is no bound
	DefaultLimit int // for a filter without limit; 0 is MaxLimit
	MaxTotal     int // over all filters of the query; 0 is no bound

	// Visible leaves out what it refuses, as if that were not stored: it counts
	// towards no limit and no hint. nil: everything is visible. It may block: neither
	// a lock nor memory of the database's is held while it runs. It may be asked about
	// an event more than once, and must not use the snapshot.
	Visible func(ev *wire.Event) bool
}

// Rows walks the result of a query. Not safe for concurrent use.
type Rows interface {
	// Next appends up to max (at least 1) records to dst and returns it; io.EOF
	// comes alone, after the last record. Fewer than max come when the next one
	// takes a long scan, or when they have more than half a MiB. It may read from disk and stops when ctx ends. Between two
	// calls a Rows holds no memory of the database's, however long that takes.
	Next(ctx context.Context, dst []Record, max int) ([]Record, error)
	// Hint says, once Next returned io.EOF, whether a limit hid further matching
	// events (NIP-67): some filter has a match beyond its own limit, or MaxTotal
	// cut the answer. It is unknown when finding out would take more than a short
	// look, and when a filter with a limit of 0 was not looked at.
	Hint() wire.Hint
	Close() error
}

// Record is a stored event and where the log has it.
type Record struct {
	Position Position
	Event    *wire.Event
}

// Matches reports whether the row is an event that matches one of the filters
// and may be served at now, in Unix seconds (G7).
func (e *Entry) Matches(filters []*wire.Filter, now int64) bool {
	return e.Event != nil && e.Type != EntryRemoval &&
		wire.MatchesAny(filters, e.Event) && !e.Event.Expired(now)
}
