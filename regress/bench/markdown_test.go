package bench_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/regress/bench"
)

func TestMarkdownTellsBarsAndGrowth(t *testing.T) {
	t.Parallel()
	usual := reportOf("all", map[string]float64{"one write a frame": 1000}, map[string]float64{"frames per CPU-s": 6000})
	usual.Rows[0].Title = "what is done"
	usual.Judge()
	grown := reportOf("all", map[string]float64{"one write a frame": 1000}, map[string]float64{"frames per CPU-s": 4000})
	grown.Scale = 10
	grown.Judge()
	print := func(usual, grown *bench.Report) string {
		var out bytes.Buffer
		require.NoError(t, bench.Markdown(&out, usual, grown))
		return out.String()
	}
	require.Equal(t, `| row | figure | reached | bar | of the machine's limit |
|---|---|--:|--:|---|
| all: what is done | frames per CPU-s | 6,000 | at least 2,500 | 6.00 x one write a frame |
`, print(&usual, nil))
	require.Equal(t, `| row | figure | reached | bar | of the machine's limit | at scale 10 | cost of one |
|---|---|--:|--:|---|--:|--:|
| all: what is done | frames per CPU-s | 6,000 | at least 2,500 | 6.00 x one write a frame | 4,000 | 1.50 x |
`, print(&usual, &grown))

	slow := reportOf("churn", nil, map[string]float64{"EOSE p99 ms": 6})
	slow.Judge()
	slower := reportOf("churn", nil, map[string]float64{"EOSE p99 ms": 15})
	slower.Judge()
	require.Contains(t, print(&slow, &slower), "| EOSE p99 ms | 6.00 | at most 5.00, missed | - | 15.0 | 2.50 x |\n")
	require.Contains(t, print(&slow, &usual), "| - | - |\n", "not measured there")
}

func TestMarkdownTellsThatItCouldNotBeWritten(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	require.ErrorIs(t, bench.Markdown(failing{full}, &bench.Report{}, nil), full)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
