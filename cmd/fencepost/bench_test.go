package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	main "fencepost/cmd/fencepost"
	"fencepost/regress/bench"
	"fencepost/relay/config"
)

// Every row, small, against this relay: it does all of the work.
func TestBenchMeasuresARelay(t *testing.T) {
	t.Parallel()
	unlimited := func(c *config.Config) { c.Network.MaxConnectionsPerAddress = 0 }
	a, b := startRelay(t, unlimited), startRelay(t, unlimited)
	dir := t.TempDir()
	file := filepath.Join(dir, "report.json")
	r := main.Run(t.Context(), strings.NewReader(""), "bench", a, "--quick", "--rounds=1", "--patience=1m",
		"--on-tmpfs="+b, "--disk="+dir, "--cache="+filepath.Join(dir, "signed"), "--json="+file)
	require.Zero(t, r.Code, "%s\n%s", r.Stderr, r.Stdout)
	require.Contains(t, r.Stdout, "signature check")
	require.Contains(t, r.Stderr, "few, relay A, round 1 of 1")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var report bench.Report
	require.NoError(t, json.Unmarshal(data, &report))
	require.False(t, report.Failed())
	require.Len(t, report.Rows, len(bench.RowNames())-1, "all but the memory of a process that is not known")

	r = main.Run(t.Context(), strings.NewReader(""), "bench", "--markdown="+file+","+file)
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stdout, "| row | figure | reached | bar | of the machine's limit | at scale 1 | cost of one |")
	require.Contains(t, r.Stdout, "| 1.00 x |", "nothing has grown")

	// What was published is there now.
	r = main.Run(t.Context(), strings.NewReader(""), "bench", a, "--quick", "--rounds=1", "--rows=alone", "--no-limits",
		"--cache="+filepath.Join(dir, "signed"), "--json=-")
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "fencepost: a relay did not do all of the work; it may have these events already: use an empty folder or another --seed\n")
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &report))
	require.Contains(t, report.Rows[0].Results[0].Failure, "the relay has these events already")
}

func TestBenchCommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "bench: the URL of a relay is needed"},
		{[]string{"http://x"}, `bench: "http://x" is not a ws:// or wss:// URL`},
		{[]string{"ws://x", "--rows=none"}, `bench: there is no row "none"`},
		{[]string{"ws://x", "--rounds=0"}, "bench: rounds, scale and patience must be above zero"},
		{[]string{"ws://x", "--pid=999999999"}, "bench: process 999999999"},
		{[]string{"--markdown=" + dir + "/none"}, "bench: open " + dir + "/none"},
		{[]string{"--markdown=bench_test.go"}, "bench: report bench_test.go: invalid character"},
		{[]string{"--markdown=a,b,c"}, "bench: a table is of one report, or of two"},
		{[]string{"ws://127.0.0.1:1", "--quick", "--rows=alone", "--no-limits"}, "a relay did not do all of the work"},
	} {
		r := main.Run(t.Context(), strings.NewReader(""), append([]string{"bench", "--cache=" + dir}, tc.args...)...)
		require.Equal(t, 1, r.Code, tc.args)
		require.Contains(t, r.Stderr, tc.want)
	}
	r := main.Run(t.Context(), strings.NewReader(""), "bench", "--prepare", "--quick", "--rows=alone", "--no-limits", "--rounds=1", "--cache="+dir)
	require.Zero(t, r.Code, r.Stderr)
	require.Empty(t, r.Stdout)
}
