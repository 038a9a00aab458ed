package trace

import "fmt"

// Rule names what a frame, or its absence, broke.
type Rule string

const (
	// Unreadable: a frame that is no message of a relay.
	Unreadable Rule = "unreadable frame"
	// NeverOpened: a frame for an id that no REQ or COUNT has named.
	NeverOpened Rule = "frame for an id that was never opened"
	// Stale: an EVENT that only a generation before the current one asked for (G2).
	Stale Rule = "event of an older generation"
	// NotMatching: an EVENT that no generation of the id asked for.
	NotMatching Rule = "event matches no filter"
	// AfterClosed: EVENT or EOSE after CLOSED, without a new REQ (G3, G5).
	AfterClosed Rule = "frame after CLOSED"
	// AfterClose: EVENT or EOSE after the relay read CLOSE (G1).
	AfterClose Rule = "frame after CLOSE"
	// ForeignClosed: a CLOSED that belongs to no generation and no COUNT (G3).
	ForeignClosed Rule = "CLOSED that ends nothing"
	// SecondEOSE: more than one EOSE in a generation (G6).
	SecondEOSE Rule = "second EOSE"
	// StoredAfterEOSE: an event after EOSE that stands in the log before one that
	// came as stored (G6).
	StoredAfterEOSE Rule = "stored event after EOSE"
	// StoredOrder: stored events that are not newest first, ties by lowest id (G6).
	StoredOrder Rule = "stored events out of order"
	// LiveOrder: live events that are not in position order (G6).
	LiveOrder Rule = "live events out of order"
	// FeedOrder: a position of a feed that does not lie behind those before it (R1).
	FeedOrder Rule = "positions of a feed out of order"
	// Duplicate: an event more often in a generation than it was committed (G6).
	Duplicate Rule = "event twice in a generation"
	// Altered: an event that is not what was committed.
	Altered Rule = "event differs from what was committed"
	// Forbidden: an event that the reader may not see when it comes, or that stands
	// in the log above what took the permission away (G4).
	Forbidden Rule = "event that the reader may not see"
	// NeverCommitted: an event that nobody has committed.
	NeverCommitted Rule = "event was never committed"
	// UnexpectedAnswer: an OK without EVENT or AUTH, a COUNT without COUNT.
	UnexpectedAnswer Rule = "answer to nothing"
	// MissingAnswer: a REQ without EOSE or CLOSED, an EVENT, AUTH or COUNT
	// without its answer, a CLOSE without the CLOSED that was agreed on.
	MissingAnswer Rule = "missing answer"
	// MissingEvent: a committed event that an open generation did not get (G6, G8).
	MissingEvent Rule = "missing event"
)

// Violation is one broken rule.
type Violation struct {
	Rule Rule
	Line int    // line of the transcript that shows it, from 1; the last for what is missing
	Sub  string // subscription id, "" when the rule is not about one
	Text string // what it was
}

func (v Violation) String() string {
	return fmt.Sprintf("line %d: %s: %q %s", v.Line, v.Rule, v.Sub, v.Text)
}
