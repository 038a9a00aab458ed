package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/regress/bench"
	"fencepost/relay/store/storetest"
)

// patience is long for a busy machine, and waited for only where a relay is silent.
const patience = time.Minute

// silence is the patience with a relay that is silent.
const silence = 2 * time.Second

// quickly returns the options of a quick run against a relay in this process.
func quickly(r *fake, rows ...string) bench.Options {
	return bench.Options{
		Relay: bench.Target{URL: r.url, PID: os.Getpid()}, Rows: rows,
		Quick: true, Rounds: 1, Patience: patience, Cache: signedDir, NoLimits: true,
	}
}

// result returns the one result of the one row.
func result(t *testing.T, report *bench.Report) *bench.Result {
	t.Helper()
	require.Len(t, report.Rows, 1)
	require.Len(t, report.Rows[0].Results, 1)
	return report.Rows[0].Results[0]
}

func figure(t *testing.T, of *bench.Result, name string) float64 {
	t.Helper()
	i := slices.IndexFunc(of.Figures, func(f bench.Figure) bool { return f.Name == name })
	require.GreaterOrEqual(t, i, 0, "%s in %v", name, of)
	return of.Figures[i].Value
}

func TestARelayThatDoesAllOfTheWorkGetsAllFigures(t *testing.T) {
	t.Parallel()
	r, tmpfs := newFake(t, faults{}), newFake(t, faults{})
	o := quickly(r)
	o.OnTmpfs = bench.Target{URL: tmpfs.url, PID: os.Getpid()}
	o.Rounds, o.NoLimits, o.Disk = 2, false, t.TempDir()
	o.OpenStore = func(string) (bench.Store, error) { return storetest.NewFake(time.Now), nil }
	report, err := bench.Run(t.Context(), o)
	require.NoError(t, err)
	require.False(t, report.Failed(), "%+v", report.Rows)
	var names []string
	for _, row := range report.Rows {
		names = append(names, row.Name)
		for _, f := range row.Results[0].Figures {
			want := 2
			if row.Name == "idle" {
				want = 1
			}
			require.Len(t, f.Samples, want, "%s: %s", row.Name, f.Name)
		}
	}
	require.Equal(t, bench.RowNames(), names)
	require.Len(t, report.Verdicts, 16)
	require.Greater(t, len(report.Limits), 2)
	for _, l := range report.Limits {
		require.LessOrEqual(t, len(l.Samples), 3, l.Name) // some take less time than the system counts
		require.Positive(t, l.Value, l.Name)
	}
	left, err := os.ReadDir(o.Disk)
	require.NoError(t, err)
	require.Empty(t, left)

	var table bytes.Buffer
	require.NoError(t, report.Print(&table))
	for _, want := range []string{"generator's CPU", "one write a frame", "churn: REQ -> EOSE", "Its figures mean nothing"} {
		require.Contains(t, table.String(), want)
	}
	data, err := json.Marshal(report)
	require.NoError(t, err)
	var back bench.Report
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, report.Rows, back.Rows)
}

// What the relay counted is what the generator must have counted.
func TestEachFrameIsCountedOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		row    string
		events int
		frames func(counts) int
	}{
		{"ingest", 400, nil},
		{"alone", 50, nil},
		{"all", 50, func(counts) int { return 50 * 20 }},
		{"few", 100, func(c counts) int { return c.frames }},
		{"delivered", 20, func(counts) int { return 20 * 5 }},
	} {
		t.Run(tc.row, func(t *testing.T) {
			t.Parallel()
			r := newFake(t, faults{})
			report, err := bench.Run(t.Context(), quickly(r, tc.row))
			require.NoError(t, err)
			got := result(t, report)
			require.Empty(t, got.Failure)
			c := r.counted()
			require.Equal(t, tc.events, c.events)
			if tc.frames == nil {
				require.Zero(t, c.frames)
				return
			}
			require.Equal(t, tc.frames(c), c.frames)
			if tc.row == "few" {
				require.InDelta(t, float64(c.frames)/100, figure(t, got, "frames an event"), 1e-9)
				require.InDelta(t, 39, figure(t, got, "frames an event"), 5)
			}
		})
	}
}

func TestARelayThatDoesPartOfTheWorkGetsNoFigure(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		row      string
		faults   faults
		patience time.Duration // 0: the relay is not silent
		want     string
	}{
		{"refusal", "ingest", faults{refuse: 77}, 0, "the relay refused an event: blocked: not you"},
		{"no OK", "ingest", faults{mute: 400}, silence, "399 of 400 events got their OK and 0 of 0 frames came; the relay sent nothing for 2s"},
		{"OK for another event", "ingest", faults{otherID: 3}, 0, "an OK for " + strings.Repeat("0", 64) + ", which nobody waits for"},
		{"connection ended", "alone", faults{hangUp: 5}, 0, "EOF"},
		{"frame lost", "all", faults{lose: 1000}, silence, "50 of 50 events got their OK and 999 of 1000 frames came"},
		{"event kept back", "all", faults{forget: 50}, silence, "50 of 50 events got their OK and 980 of 1000 frames came"},
		{"frame twice", "all", faults{twice: 1000}, 0, "to subscription 0 twice"},
		{"frame for nobody", "all", faults{elsewhere: 500}, 0, `for the subscription "nobody's", which nobody opened`},
		{"frame lost among few", "few", faults{lose: 1234}, silence, "100 of 100 events got their OK and"},
		{"frame twice among few", "few", faults{twice: 1234}, 0, "twice"},
		{"latency of a lost frame", "delivered", faults{lose: 42}, silence, "9 of 20 events got their OK and 44 of 100 frames came"},
		{"subscription closed", "few", faults{end: "members only"}, 0, "the relay closed a subscription: restricted: members only"},
		{"stored event kept back", "authors", faults{withhold: 3}, 0, "events, "},
		{"no EOSE", "id", faults{endless: 3}, silence, "the relay sent nothing for 2s"},
		{"REQ refused", "ids", faults{end: "members only"}, 0, "the relay closed a subscription: restricted: members only"},
		{"answer of a churning connection", "churn", faults{endless: 5}, silence, "the relay sent nothing for 2s"},
		{"notice", "alone", faults{mute: 2, notice: "disk full"}, silence, "(its last NOTICE: error: disk full)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newFake(t, tc.faults)
			o := quickly(r, tc.row)
			if tc.patience > 0 {
				o.Patience = tc.patience
			}
			report, err := bench.Run(t.Context(), o)
			require.NoError(t, err)
			require.True(t, report.Failed())
			got := result(t, report)
			require.Contains(t, got.Failure, tc.want)
			require.Empty(t, got.Figures)
			for _, v := range report.Verdicts {
				require.Equal(t, "-", v.Reached)
			}
			var table bytes.Buffer
			require.NoError(t, report.Print(&table))
			require.Contains(t, table.String(), "FAILED")
		})
	}
}

func TestEventsThatTheRelayHasAlreadyAreNoWork(t *testing.T) {
	t.Parallel()
	r := newFake(t, faults{})
	for _, want := range []string{"", "the relay has these events already"} {
		report, err := bench.Run(t.Context(), quickly(r, "alone"))
		require.NoError(t, err)
		require.Contains(t, result(t, report).Failure, want)
		require.Equal(t, want != "", report.Failed())
	}
	for range 2 { // what queries are about is published once
		report, err := bench.Run(t.Context(), quickly(r, "id"))
		require.NoError(t, err)
		require.Empty(t, result(t, report).Failure)
		require.Equal(t, 50+1+1000, r.counted().events)
	}
}

func TestTwoRelaysAreMeasuredInTurn(t *testing.T) {
	t.Parallel()
	a, b := newFake(t, faults{}), newFake(t, faults{refuse: 60})
	o := quickly(a, "alone")
	o.Against, o.Rounds = bench.Target{URL: b.url}, 2
	var mu sync.Mutex
	var said []string
	o.Say = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		line, _, _ = strings.Cut(line, ":")
		said = append(said, line)
	}
	report, err := bench.Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, []string{
		"alone, relay A, round 1 of 2", "alone, relay B, round 1 of 2",
		"alone, relay A, round 2 of 2", "alone, relay B",
	}, said, "B is given up in its second round")
	results := report.Rows[0].Results
	require.Len(t, results[0].Figures[0].Samples, 2)
	require.NotEmpty(t, results[1].Failure)
	require.Empty(t, results[1].Figures)
	require.Equal(t, []bench.Relay{{Name: "A", URL: a.url, PID: os.Getpid()}, {Name: "B", URL: b.url}}, report.Relays)
}

func TestWithoutAProcessThereAreFiguresByTheClock(t *testing.T) {
	t.Parallel()
	r := newFake(t, faults{})
	o := quickly(r, "ingest")
	o.Relay.PID = 0
	report, err := bench.Run(t.Context(), o)
	require.NoError(t, err)
	got := result(t, report)
	require.Positive(t, figure(t, got, "events per s"))
	for _, f := range got.Figures {
		require.NotContains(t, f.Name, "CPU")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		change func(*bench.Options)
		want   string
	}{
		{func(o *bench.Options) { o.Relay.URL = "http://x" }, `"http://x" is not a ws:// or wss:// URL`},
		{func(o *bench.Options) { o.Relay.URL = "" }, `"" is not a ws:// or wss:// URL`},
		{func(o *bench.Options) { o.Rows = []string{"none"} }, `there is no row "none"; there are idle, ingest`},
		{func(o *bench.Options) { o.Rounds = -1 }, "rounds must be from 1 to 100"},
		{func(o *bench.Options) { o.Scale = 1000 }, "scale must be from 1 to 100"},
		{func(o *bench.Options) { o.Patience = -1 }, "patience"},
		{func(o *bench.Options) { o.Cache = "" }, "a folder for signed events is needed"},
	} {
		o := bench.Options{Relay: bench.Target{URL: "ws://127.0.0.1:1"}, Quick: true, Cache: signedDir}
		tc.change(&o)
		_, err := bench.Run(t.Context(), o)
		require.ErrorContains(t, err, tc.want)
	}
}

func TestARelayThatIsNotThereIsAFailure(t *testing.T) {
	t.Parallel()
	o := quickly(&fake{url: "ws://127.0.0.1:1"}, "alone")
	report, err := bench.Run(t.Context(), o)
	require.NoError(t, err)
	require.Contains(t, result(t, report).Failure, "connection 1 of 1: connect to ws://127.0.0.1:1: connection refused")
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := newFake(t, faults{mute: 1})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for r.counted().events == 0 && ctx.Err() == nil {
			<-time.After(time.Millisecond)
		}
		cancel()
	}()
	_, err := bench.Run(ctx, quickly(r, "alone"))
	require.ErrorIs(t, err, context.Canceled)
}

// At a larger scale every row is about a relay that has the stored events.
func TestScaleGrowsWhatTheRelayHolds(t *testing.T) {
	t.Parallel()
	r := newFake(t, faults{})
	o := quickly(r, "all")
	o.Scale = 2
	report, err := bench.Run(t.Context(), o)
	require.NoError(t, err)
	require.Empty(t, result(t, report).Failure)
	c := r.counted()
	require.Equal(t, 2*1000+25, c.events)
	require.Equal(t, 25*40, c.frames, "as many frames as ever")
}
