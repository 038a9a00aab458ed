package bench_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/regress/bench"
)

// judged returns the verdict about one figure of a report.
func judged(t *testing.T, r bench.Report, figure string) bench.Verdict {
	t.Helper()
	r.Judge()
	for _, v := range r.Verdicts {
		if v.Figure == figure {
			return v
		}
	}
	require.Fail(t, "no verdict", figure)
	return bench.Verdict{}
}

func reportOf(row string, limits map[string]float64, figures map[string]float64) bench.Report {
	r := bench.Report{Rows: []bench.Row{{Name: row, Results: []*bench.Result{{Relay: "A"}}}}}
	for name, v := range limits {
		r.Limits = append(r.Limits, bench.Limit{Name: name, Value: v})
	}
	for name, v := range figures {
		r.Rows[0].Results[0].Figures = append(r.Rows[0].Results[0].Figures, bench.Figure{Name: name, Value: v})
	}
	return r
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	const check, commit = "signature check", "durable commit, 100 events an fsync"
	for _, tc := range []struct {
		row, figure string
		limits      map[string]float64
		figures     map[string]float64
		bar, ratio  float64 // -1: none
		reached     string
	}{
		{"ingest", "events per CPU-s", map[string]float64{check: 20_000, commit: 20_000}, map[string]float64{"events per CPU-s": 7000}, 7000, 0.7, "yes"},
		{"ingest", "events per CPU-s", map[string]float64{check: 20_000, commit: 20_000}, map[string]float64{"events per CPU-s": 6999}, 7000, 0.6999, "no"},
		{"ingest", "events per CPU-s", map[string]float64{check: 20_000}, map[string]float64{"events per CPU-s": 7000}, -1, -1, "-"},
		{"alone", "OK p50 ms", map[string]float64{"fsync p50": 0.4}, map[string]float64{"OK p50 ms": 0.9}, 0.9, 2.25, "yes"},
		{"alone", "OK p50 ms", map[string]float64{"fsync p50": 0.4}, map[string]float64{"OK p50 ms": 0.91}, 0.9, 2.275, "no"},
		{"all", "frames per CPU-s", map[string]float64{"one write a frame": 100}, map[string]float64{"frames per CPU-s": 300}, 250, 3, "yes"},
		{"few", "frames per CPU-s", map[string]float64{"one write a frame": 100}, map[string]float64{"frames per CPU-s": 120}, 135, 1.2, "no"},
		{"delivered", "delivered p50 ms", nil, map[string]float64{"delivered p50 ms": 0.9, "OK p50 ms": 0.8}, 1, -1, "yes"},
		{"delivered", "delivered p99 ms", nil, map[string]float64{"delivered p99 ms": 0.9}, -1, -1, "-"},
		{"delivered-tmpfs", "delivered p99 ms", nil, map[string]float64{"delivered p99 ms": 3.1}, 3, -1, "no"},
		{"id", "REQ per CPU-s", nil, map[string]float64{"REQ per CPU-s": 16_000}, 16_000, -1, "yes"},
		{"idle", "resident KiB each", nil, map[string]float64{"resident KiB each": 14.1}, 14, -1, "no"},
		{"churn", "EOSE p99 ms", nil, map[string]float64{"EOSE p99 ms": 4}, 5, -1, "yes"},
		{"churn", "EOSE p99 ms", nil, nil, 5, -1, "-"},
	} {
		v := judged(t, reportOf(tc.row, tc.limits, tc.figures), tc.figure)
		require.Equal(t, tc.reached, v.Reached, tc)
		for want, got := range map[float64]*float64{tc.bar: v.Bar, tc.ratio: v.Ratio} {
			if want < 0 {
				continue
			}
			require.NotNil(t, got, tc)
			require.InDelta(t, want, *got, 1e-9, tc)
		}
		require.Equal(t, tc.bar < 0, v.Bar == nil, tc)
		require.Equal(t, tc.ratio < 0, v.Ratio == nil, tc)
	}
}

func TestTheTableComparesTwoRelays(t *testing.T) {
	t.Parallel()
	r := reportOf("kind", nil, map[string]float64{"REQ per CPU-s": 1234})
	r.Rows[0].Results = append(r.Rows[0].Results, &bench.Result{Relay: "B", Figures: []bench.Figure{{Name: "REQ per CPU-s", Value: 617}}})
	r.Relays = []bench.Relay{{Name: "A", URL: "ws://a"}, {Name: "B", URL: "ws://b", PID: 7}}
	r.Judge()
	var out bytes.Buffer
	require.NoError(t, r.Print(&out))
	require.Contains(t, strings.Join(strings.Fields(out.String()), " "), "kind REQ per CPU-s 1,234 617 2.00 - >= 300 yes absolute")
	require.Contains(t, out.String(), "relay A: ws://a, process not known")
	require.Contains(t, out.String(), "relay B: ws://b, process 7")
}

// A run without work would miss most bars, or reach them by luck.
func TestAQuickRunIsHeldAgainstNoBar(t *testing.T) {
	t.Parallel()
	r := reportOf("churn", nil, map[string]float64{"EOSE p99 ms": 6})
	r.Quick = true
	v := judged(t, r, "EOSE p99 ms")
	require.Equal(t, bench.Verdict{Row: "churn", Figure: "EOSE p99 ms", Value: 6, Reached: "-"}, v)
	r.Judge()
	var out bytes.Buffer
	require.NoError(t, r.Print(&out))
	first, rest, _ := strings.Cut(out.String(), "\n")
	require.Equal(t, "A quick run: it says whether all works. Its figures mean nothing, so there are no bars.", first)
	require.NotContains(t, rest, "reached")
	require.Contains(t, strings.Join(strings.Fields(rest), " "), "churn A EOSE p99 ms 6.00")
	out.Reset()
	require.NoError(t, bench.Markdown(&out, &r, nil))
	require.Contains(t, out.String(), "| EOSE p99 ms | 6.00 | - | - |\n")
}
