package fences

import (
	"encoding/json"
	"errors"
	"fmt"

	"fencepost/relay/store"
)

// Result is what Check found beside violations.
type Result struct {
	Frames     int // in the log
	Answered   int // of them, told with their number
	Owners     int // that have frames in the log
	Claims     int // told
	Refused    int // frames that a former owner was refused
	Duplicates int
}

// Check judges the log against what the writers told. next is the number of the next
// frame as the relay shows it.
func Check(rows []store.Entry, told []Line, next uint64) (Result, error) {
	j := &judge{holder: make(map[uint64]int), number: make(map[string]int)}
	for _, l := range told {
		if l.Did == "claimed" {
			j.claim(l)
		}
	}
	j.frames(rows)
	for _, l := range told {
		j.answer(l)
	}
	if uint64(j.Frames)+1 != next {
		j.bad("P8: the next number is %d after %d frames", next, j.Frames)
	}
	return j.Result, errors.Join(j.errs...)
}

// judge has what was found so far.
type judge struct {
	Result
	holder map[uint64]int // epoch -> writer
	number map[string]int // id -> place among the frames, from 1
	errs   []error
}

func (j *judge) bad(format string, args ...any) {
	if len(j.errs) < 20 {
		j.errs = append(j.errs, fmt.Errorf(format, args...))
	}
}

func (j *judge) claim(l Line) {
	j.Claims++
	if other, ok := j.holder[l.Epoch]; ok {
		j.bad("P1: epoch %d was claimed by writers %d and %d", l.Epoch, other, l.Writer)
	}
	j.holder[l.Epoch] = l.Writer
}

func (j *judge) frames(rows []store.Entry) {
	last, owners := uint64(0), make(map[uint64]bool)
	for _, row := range rows {
		var c Content
		if row.Event == nil || json.Unmarshal([]byte(row.Event.Content), &c) != nil {
			j.bad("position %d is no frame", row.Position)
			continue
		}
		j.Frames++
		if _, twice := j.number[row.Event.ID]; twice {
			j.bad("P16: event %s is in the log twice", row.Event.ID)
		}
		j.number[row.Event.ID] = j.Frames
		if w, ok := j.holder[c.Epoch]; ok && w != c.Writer { // a claim that was killed may not have been told
			j.bad("P1: writer %d published in epoch %d of writer %d", c.Writer, c.Epoch, w)
		}
		if c.Epoch < last {
			j.bad("P6: position %d has a frame of epoch %d after one of %d", row.Position, c.Epoch, last)
		}
		last = max(last, c.Epoch)
		owners[c.Epoch] = true
	}
	j.Owners = len(owners)
}

func (j *judge) answer(l Line) {
	switch at, stored := j.number[l.ID]; {
	case l.Did == "admitted" && !stored:
		j.bad("P8: event %s was answered with number %d and is not in the log", l.ID, l.Number)
	case l.Did == "admitted" && uint64(at) != l.Number:
		j.bad("P8: event %s was answered with number %d and is frame %d of the log", l.ID, l.Number, at)
	case l.Did == "admitted":
		j.Answered++
	case l.Did == "duplicate" && !stored:
		j.bad("P16: event %s was called a duplicate and is not in the log", l.ID)
	case l.Did == "duplicate":
		j.Duplicates++
	case l.Did == "refused" && stored:
		j.bad("P7: event %s was refused and is in the log", l.ID)
	case l.Did == "refused":
		j.Refused++
	}
}
