package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Print writes the report as tables: figures against their bars (not of a quick run),
// then everything that was measured, then the limits of the machine.
func (r *Report) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if r.Quick {
		fmt.Fprintln(t, "A quick run: it says whether all works. Its figures mean nothing, so there are no bars.")
	} else {
		r.printVerdicts(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(t)
	r.printFigures(t)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(t)
	r.printLimits(t)
	fmt.Fprintln(t)
	for _, line := range r.notes() {
		fmt.Fprintln(t, line)
	}
	return t.Flush() // tells the errors of all before
}

func (r *Report) printVerdicts(w io.Writer) {
	against := r.against()
	header := "row\tfigure\tA\t"
	if against {
		header += "B\tA / B\t"
	}
	fmt.Fprintln(w, header+"A / limit\tlimit\tbar\treached\thow the bar comes about")
	for _, v := range r.Verdicts {
		value := number(v.Value)
		if v.Value == 0 {
			value = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t", v.Row, v.Figure, value)
		if against {
			other, ratio := "-", "-"
			if v.Other != nil {
				other, ratio = number(*v.Other), number(v.Value / *v.Other)
			}
			fmt.Fprintf(w, "%s\t%s\t", other, ratio)
		}
		sign := map[bool]string{true: ">= ", false: "<= "}[v.Least]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", optional(v.Ratio, ""), v.Limit, optional(v.Bar, sign), v.Reached, v.Why)
	}
}

func optional(v *float64, before string) string {
	if v == nil {
		return "-"
	}
	return before + number(*v)
}

func (r *Report) against() bool {
	for _, relay := range r.Relays {
		if relay.Name == "B" {
			return true
		}
	}
	return false
}

func (r *Report) printFigures(w io.Writer) {
	fmt.Fprintln(w, "row\trelay\tfigure\tmedian\trounds")
	for _, row := range r.Rows {
		for _, result := range row.Results {
			if result.Failure != "" {
				fmt.Fprintf(w, "%s\t%s\tFAILED\t\t%s\n", row.Name, result.Relay, result.Failure)
			}
			for _, f := range result.Figures {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", row.Name, result.Relay, f.Name, number(f.Value), numbers(f.Samples))
			}
		}
	}
}

func (r *Report) printLimits(w io.Writer) {
	fmt.Fprintln(w, "limit of the machine\tmedian\tunit\tpasses")
	for _, l := range r.Limits {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Name, number(l.Value), l.Unit, numbers(l.Samples))
	}
}

func numbers(samples []float64) string {
	var out []string
	for _, v := range samples {
		out = append(out, number(v))
	}
	return strings.Join(out, "  ")
}

// notes say what the tables are about.
func (r *Report) notes() (out []string) {
	for _, row := range r.Rows {
		out = append(out, fmt.Sprintf("%s: %s", row.Name, row.Title))
	}
	out = append(out, "")
	for _, relay := range r.Relays {
		process := "process not known: nothing per CPU-second"
		if relay.PID != 0 {
			process = fmt.Sprintf("process %d", relay.PID)
		}
		out = append(out, fmt.Sprintf("relay %s: %s, %s", relay.Name, relay.URL, process))
	}
	return append(out,
		fmt.Sprintf("%d rounds, scale %d, seed %d, signature checks of the limits: %s, generator on %d core(s), load before: %s, %.0f s",
			r.Rounds, r.Scale, r.Seed, r.Signatures, r.Cores, r.Load, r.Seconds),
		"per CPU-s of a relay: divided by the user and system time of its process, all threads (/proc/PID/stat).",
		"per CPU-s of a limit: signature check and writes by the time of the thread that does them, commits by that of the generator's process.",
		"per s, ms: by the clock. Memory: growth of the process since the run began, from /proc/PID/smaps_rollup.",
	)
}
