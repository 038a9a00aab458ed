package store

import "time"

// Retention says how much of the log is kept. A row goes when one of the bounds says so;
// a bound of 0 says nothing.
type Retention struct {
	Age  time.Duration // rows that were in the log longer ago go
	Rows uint64        // all but so many of the newest go
}

// Moment says that everything up to Position was in the log at At, in Unix seconds.
type Moment struct {
	Position Position
	At       int64
}

// momentsOfAge is how many moments a log has of the time that it keeps.
const momentsOfAge = 128

// Plan is how a store trims its log, which is as info says at now: it returns where the
// floor is to be, at most one beyond the head, and the moments to keep in place of those
// that are kept, oldest first. So an append costs nothing for retention by age: trimming
// notes where the head is now and then, and a row stays until the first moment after it
// is old enough, which is up to Age/128 and the time between two trims later.
func (r Retention) Plan(now time.Time, info LogInfo, kept []Moment) (floor Position, moments []Moment) {
	floor = info.Floor
	if rows := Position(r.Rows); r.Rows > 0 && info.Head >= rows {
		floor = max(floor, info.Head-rows+1)
	}
	if r.Age <= 0 {
		return floor, nil
	}
	last := Moment{At: -1 << 62}
	for _, m := range kept {
		last = m
		if now.Unix()-m.At >= int64(r.Age/time.Second) {
			floor = max(floor, m.Position+1)
			moments = moments[:0] // this one says as much
		}
		if m.Position >= info.Floor {
			moments = append(moments, m)
		}
	}
	apart := int64(r.Age / momentsOfAge / time.Second)
	if info.Head >= info.Floor && info.Head > last.Position && now.Unix()-last.At >= apart {
		moments = append(moments, Moment{Position: info.Head, At: now.Unix()})
	}
	return floor, moments
}
