package bench

import (
	"bufio"
	"fmt"
	"io"
)

// Markdown writes the figures of relay A in a report, and their bars, as a table in
// Markdown. With grown, a report of the same relay at a larger scale, it also says
// what each figure came to there and how much the cost of one unit grew.
func Markdown(w io.Writer, usual, grown *Report) error {
	out := bufio.NewWriter(w) // keeps the first error
	header, rule := "| row | figure | reached | bar | of the machine's limit |", "|---|---|--:|--:|---|"
	if grown != nil {
		header += fmt.Sprintf(" at scale %d | cost of one |", grown.Scale)
		rule += "--:|--:|"
	}
	fmt.Fprintf(out, "%s\n%s\n", header, rule)
	for _, v := range usual.Verdicts {
		fmt.Fprintf(out, "| %s: %s | %s | %s | %s | %s |", v.Row, usual.title(v.Row), v.Figure, reached(v.Value), required(&v), v.share())
		if grown != nil {
			there := grown.verdict(v.Row, v.Figure)
			fmt.Fprintf(out, " %s | %s |", reached(there.Value), growth(&v, &there))
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

func (r *Report) title(row string) string {
	for _, w := range r.Rows {
		if w.Name == row {
			return w.Title
		}
	}
	return ""
}

// verdict returns the one about a figure, without a value when there is none.
func (r *Report) verdict(row, figure string) Verdict {
	for _, v := range r.Verdicts {
		if v.Row == row && v.Figure == figure {
			return v
		}
	}
	return Verdict{}
}

func reached(value float64) string {
	if value == 0 {
		return "-"
	}
	return number(value)
}

// required returns the bar, and that it is missed when it is.
func required(v *Verdict) string {
	if v.Bar == nil {
		return "-"
	}
	s := map[bool]string{true: "at least ", false: "at most "}[v.Least] + number(*v.Bar)
	if v.Reached == "no" {
		s += ", missed"
	}
	return s
}

// share returns what part of the machine's limit the figure is.
func (v *Verdict) share() string {
	if v.Ratio == nil {
		return "-"
	}
	return number(*v.Ratio) + " x " + v.Limit
}

// growth returns the cost of one unit there as a multiple of that here.
func growth(here, there *Verdict) string {
	switch {
	case here.Value == 0 || there.Value == 0:
		return "-"
	case here.Least:
		return number(here.Value/there.Value) + " x"
	default:
		return number(there.Value/here.Value) + " x"
	}
}
