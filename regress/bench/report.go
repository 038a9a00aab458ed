package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Report is what a run measured. Its JSON form is meant for programs.
type Report struct {
	Began      time.Time `json:"began"`
	Seconds    float64   `json:"seconds"`
	Cores      int       `json:"cores"`      // that the generator could use
	Signatures string    `json:"signatures"` // how this binary checks them
	Rounds     int       `json:"rounds"`
	Quick      bool      `json:"quick,omitempty"` // the figures mean nothing
	Scale      int       `json:"scale"`
	Seed       uint64    `json:"seed"`
	Load       string    `json:"load,omitempty"` // of the machine before the run: its averages over 1, 5 and 15 minutes
	Relays     []Relay   `json:"relays"`
	Limits     []Limit   `json:"limits"`
	Rows       []Row     `json:"rows"`
	Verdicts   []Verdict `json:"verdicts"`
}

// Relay is one that was measured.
type Relay struct {
	Name string `json:"name"` // A, B or tmpfs
	URL  string `json:"url"`
	PID  int    `json:"pid,omitempty"`
}

// Limit is what the machine allows; Value is the median of Samples.
type Limit struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit"`
	Value   float64   `json:"value"`
	Samples []float64 `json:"samples"`
}

// Row is one kind of work, on each relay.
type Row struct {
	Name    string    `json:"name"`
	Title   string    `json:"title"`
	Results []*Result `json:"results"`
}

// Result is one relay's. A failed one has no figures.
type Result struct {
	Relay   string   `json:"relay"`
	Figures []Figure `json:"figures,omitempty"`
	Failure string   `json:"failure,omitempty"`
}

// Figure is one number; Value is the median of Samples, one for each round.
type Figure struct {
	Name    string    `json:"name"`
	Value   float64   `json:"value"`
	Samples []float64 `json:"samples"`
}

// String returns the figure and its unit.
func (f Figure) String() string { return number(f.Value) + " " + f.Name }

func newReport(o *Options) *Report {
	r := &Report{
		Began: time.Now(), Cores: runtime.GOMAXPROCS(0), Signatures: signatures,
		Rounds: o.Rounds, Quick: o.Quick, Scale: o.Scale, Seed: o.Seed, Load: loadAverage(),
	}
	for _, p := range []struct {
		name   string
		target Target
	}{{"A", o.Relay}, {"B", o.Against}, {"tmpfs", o.OnTmpfs}} {
		if p.target.URL != "" {
			r.Relays = append(r.Relays, Relay{p.name, p.target.URL, p.target.PID})
		}
	}
	return r
}

// loadAverage returns "" where the system does not tell it.
func loadAverage() string {
	data, err := fs.ReadFile(os.DirFS("/proc"), "loadavg")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(data))[:3], " ")
}

// Failed reports whether a relay did not do all of a row's work.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Rows, func(w Row) bool {
		return slices.ContainsFunc(w.Results, func(s *Result) bool { return s.Failure != "" })
	})
}

// limit notes one measurement of a limit; 0 means that there is none.
func (r *run) limit(name, unit string, value float64) {
	if value == 0 {
		return
	}
	limits := r.report.Limits
	i := slices.IndexFunc(limits, func(l Limit) bool { return l.Name == name })
	if i < 0 {
		i, limits = len(limits), append(limits, Limit{Name: name, Unit: unit})
	}
	limits[i].Samples = append(limits[i].Samples, value)
	limits[i].Value = median(limits[i].Samples)
	r.report.Limits = limits
}

// add notes what a round measured.
func (s *Result) add(figures []Figure) {
	for _, f := range figures {
		i := slices.IndexFunc(s.Figures, func(g Figure) bool { return g.Name == f.Name })
		if i < 0 {
			i, s.Figures = len(s.Figures), append(s.Figures, Figure{Name: f.Name})
		}
		s.Figures[i].Samples = append(s.Figures[i].Samples, f.Value)
		s.Figures[i].Value = median(s.Figures[i].Samples)
	}
}

// fail forgets what was measured: a relay that does part of the work is not fast.
func (s *Result) fail(err error) {
	s.Figures, s.Failure = nil, strings.ReplaceAll(err.Error(), "\n", "; ")
	if errors.Is(err, context.Canceled) {
		s.Failure = "interrupted"
	}
}

func (s *Result) figure(name string) (float64, bool) {
	for _, f := range s.Figures {
		if f.Name == name {
			return f.Value, true
		}
	}
	return 0, false
}

// median returns the middle one of the samples, of two the lower.
func median(samples []float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[(len(sorted)-1)/2]
}

// number renders a figure with three or more digits that count.
func number(v float64) string {
	switch {
	case v >= 1000:
		return grouped(int64(v + 0.5))
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// grouped renders a number with commas.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
