package bench

import "fmt"

// Verdict holds one figure of relay A against its bar.
type Verdict struct {
	Row    string  `json:"row"`
	Figure string  `json:"figure"`
	Value  float64 `json:"value"`
	// Other is relay B's figure, nil without one.
	Other *float64 `json:"other,omitempty"`
	// Ratio is the figure divided by the limit of the machine that it is held
	// against, nil where there is none.
	Ratio *float64 `json:"ratio,omitempty"`
	Limit string   `json:"limit,omitempty"` // what the limit is
	Bar   *float64 `json:"bar,omitempty"`   // what the figure must come to; nil: it cannot be told
	Why   string   `json:"why,omitempty"`   // how the bar comes about
	Least bool     `json:"least,omitempty"` // the bar is a least value, not a most
	// Reached is "yes", "no", or "-" when there is no bar or no figure.
	Reached string `json:"reached"`
}

// bar says what a figure of a row must come to.
type bar struct {
	row, figure string
	least       bool
	// of computes the bar from what the run measured; not ok when it cannot be told.
	of func(e evidence) (b bound, ok bool)
}

// bound is a bar in figures.
type bound struct {
	value float64
	why   string
	limit float64 // of the machine, 0 for none
	name  string  // what the limit is
}

// evidence is what a bar may depend on.
type evidence struct {
	report *Report
	result *Result
}

func (e evidence) limit(name string) float64 {
	for _, l := range e.report.Limits {
		if l.Name == name {
			return l.Value
		}
	}
	return 0
}

// bars are the relay's goals. Those without a limit of the machine are absolute
// figures, made on 2 cores of an AMD EPYC (family 26).
var bars = []bar{
	{"ingest", "events per CPU-s", true, ingestBar},
	{"ingest", "events per s", true, ingestWallBar},
	{"alone", "OK p50 ms", false, aloneBar},
	{"all", "frames per CPU-s", true, timesAlone(2.5)},
	{"few", "frames per CPU-s", true, timesAlone(1.35)},
	{"delivered", "delivered p50 ms", false, deliveredBar},
	{"delivered", "delivered p99 ms", false, nil},
	{rowTmpfs, "delivered p50 ms", false, absolute(0.7)},
	{rowTmpfs, "delivered p99 ms", false, absolute(3)},
	{"authors", "REQ per CPU-s", true, absolute(1700)},
	{"mentions", "REQ per CPU-s", true, absolute(4600)},
	{"kind", "REQ per CPU-s", true, absolute(300)},
	{"id", "REQ per CPU-s", true, absolute(16_000)},
	{"ids", "REQ per CPU-s", true, absolute(3700)},
	{rowIdle, "resident KiB each", false, absolute(14)},
	{"churn", "EOSE p99 ms", false, absolute(5)},
}

func absolute(v float64) func(evidence) (bound, bool) {
	return func(evidence) (bound, bool) { return bound{value: v, why: "absolute"}, true }
}

// ingestBar is 70 % of what signature checks and commits leave of a CPU-second.
func ingestBar(e evidence) (bound, bool) {
	check, commit := e.limit(limitCheck), e.limit(limitCommit)
	if check == 0 || commit == 0 {
		return bound{}, false
	}
	most := 1 / (1/check + 1/commit)
	return bound{value: 0.7 * most, why: "0.7 x the limit", limit: most, name: "1 / (check + commit)"}, true
}

func ingestWallBar(evidence) (bound, bool) {
	return bound{value: 10_000, why: "absolute, for libsecp256k1"}, signatures == "libsecp256k1"
}

func aloneBar(e evidence) (bound, bool) {
	fsync := e.limit(limitFsync + " p50")
	return bound{value: 1.5*fsync + 0.3, why: "1.5 x fsync + 0.3 ms", limit: fsync, name: "fsync p50"}, fsync > 0
}

func timesAlone(times float64) func(evidence) (bound, bool) {
	return func(e evidence) (bound, bool) {
		rate := e.limit(limitAlone)
		return bound{value: times * rate, why: fmt.Sprintf("%g x the limit", times), limit: rate, name: limitAlone}, rate > 0
	}
}

func deliveredBar(e evidence) (bound, bool) {
	ok, found := e.result.figure("OK p50 ms")
	return bound{value: ok + 0.2, why: "OK p50 + 0.2 ms"}, found
}

// judge holds the figures against the bars, but for those of a quick run.
func (r *Report) judge() {
	for _, b := range bars {
		for _, row := range r.Rows {
			if row.Name == b.row {
				r.Verdicts = append(r.Verdicts, b.judge(r, row))
			}
		}
	}
}

func (b bar) judge(r *Report, row Row) Verdict {
	v := Verdict{Row: b.row, Figure: b.figure, Least: b.least, Reached: "-"}
	first := row.Results[0]
	value, measured := first.figure(b.figure)
	v.Value = value
	if len(row.Results) > 1 {
		if other, ok := row.Results[1].figure(b.figure); ok {
			v.Other = &other
		}
	}
	if b.of == nil || r.Quick {
		return v
	}
	bound, ok := b.of(evidence{r, first})
	if !ok {
		return v
	}
	v.Bar, v.Why = &bound.value, bound.why
	if !measured {
		return v
	}
	if bound.limit > 0 {
		ratio := value / bound.limit
		v.Ratio, v.Limit = &ratio, bound.name
	}
	v.Reached = "no"
	if b.least && value >= bound.value || !b.least && value <= bound.value {
		v.Reached = "yes"
	}
	return v
}
