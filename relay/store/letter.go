package store

import (
	"context"
	"errors"
	"time"
)

// DeadLetter is a row of the log that a replica has given up to deliver.
type DeadLetter struct {
	Position Position
	Replica  string
	Attempts int
	Class    string // of the error; nothing of the row itself
	At       time.Time
}

// MaxDeadLetters is how many are kept of one replica: the ones with the highest
// positions.
const MaxDeadLetters = 1000

// ErrNoLetter says that there is no such dead letter of this replica.
var ErrNoLetter = errors.New("no such dead letter of this replica")

// Letters keeps dead letters. What it has taken is durable. All methods may be called
// from any goroutine, and block until it is or ctx ends.
type Letters interface {
	// PutDeadLetter keeps l, in the place of an earlier one of its replica and row. The
	// time is kept to the microsecond.
	PutDeadLetter(ctx context.Context, l DeadLetter) error
	// TakeDeadLetter forgets one, and reports whether there was one.
	TakeDeadLetter(ctx context.Context, replica string, at Position) (found bool, err error)
	// DeadLetters returns up to max of all replicas, by replica and position.
	DeadLetters(ctx context.Context, max int) ([]DeadLetter, error)
}
