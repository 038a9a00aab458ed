package race

import (
	"fmt"
	"time"
)

// maxExamples bounds the findings of each kind that a report describes.
const maxExamples = 5

// Report is what a storm counted.
type Report struct {
	Run     string // the prefix of its topics
	Elapsed time.Duration

	// What was done.
	Generations  int // REQs, barriers not counted
	Replacements int // REQs of an id that was open
	Closes       int // CLOSEs followed by a barrier
	Published    int // events sent
	Acknowledged int // answered OK true
	Refused      int // answered OK false
	Frames       int // EVENT frames received
	Judged       int // pairs of event and subscription that had to meet

	// What must not happen.
	Stale      int
	Duplicate  int
	Missing    int
	OutOfOrder int

	// What the relay may do, but leaves less to judge.
	Ended      int // subscriptions that the relay closed
	Unanswered int // REQs and events without an answer in time
	Malformed  int // messages that could not be decoded
	Cut        int // connections that ended early

	Examples []string // the first findings of each kind, and the first complaints of the relay
}

// Failed reports whether a frame was stale, duplicate, missing or out of order.
func (r Report) Failed() bool { return r.Stale+r.Duplicate+r.Missing+r.OutOfOrder > 0 }

// add adds the counts of one connection.
func (r *Report) add(o Report) {
	r.Generations += o.Generations
	r.Replacements += o.Replacements
	r.Closes += o.Closes
	r.Published += o.Published
	r.Acknowledged += o.Acknowledged
	r.Refused += o.Refused
	r.Frames += o.Frames
	r.Judged += o.Judged
	r.Stale += o.Stale
	r.Duplicate += o.Duplicate
	r.Missing += o.Missing
	r.OutOfOrder += o.OutOfOrder
	r.Ended += o.Ended
	r.Unanswered += o.Unanswered
	r.Malformed += o.Malformed
	r.Cut += o.Cut
	r.Examples = append(r.Examples, o.Examples...)
}

// count raises one of the counters and describes its first findings.
func (r *Report) count(counter *int, format string, args ...any) {
	if *counter++; *counter <= maxExamples {
		r.Examples = append(r.Examples, fmt.Sprintf(format, args...))
	}
}
