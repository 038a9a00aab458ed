package bench_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/regress/bench"
	"fencepost/relay/wire"
)

func TestEventsHaveTheSizesThatTheRowsName(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind string
		size int
	}{{"plain", 350}, {"marked", 480}, {"stored", 480}, {"varied", 500}} {
		sum := 0
		for _, ev := range bench.Drafts(tc.kind, 1000, 5000) {
			sum += len(ev.Raw())
		}
		require.InEpsilon(t, tc.size, sum/1000, 0.06, tc.kind)
	}
}

func TestAnEventFinds39OfDiverseSubscriptions(t *testing.T) {
	t.Parallel()
	for _, n := range []int{5000, 50_000} {
		events, filters := bench.Drafts("varied", 50, n), bench.Diverse(n)
		find, found := bench.Finder(filters), 0
		for _, ev := range events {
			numbers := find(ev)
			found += len(numbers)
			if n > 5000 {
				continue
			}
			var slow []int
			for i, f := range filters {
				if f.Matches(ev) {
					slow = append(slow, i)
				}
			}
			slices.Sort(numbers)
			require.Equal(t, slow, numbers, "as when every filter is tried")
		}
		require.InDelta(t, 39, float64(found)/50, 2, n)
	}
}

func TestQuestionsKnowTheirAnswers(t *testing.T) {
	t.Parallel()
	for _, count := range []int{200, 20_000} {
		events := bench.Drafts("stored", count, 0)
		for seed := range uint64(5) {
			questions, err := bench.Questions(events, seed)
			require.NoError(t, err)
			for _, q := range questions {
				f, n := wire.NewFilter(q.Filter), 0
				for _, ev := range events {
					if f.Matches(ev) {
						n++
					}
				}
				require.Equal(t, min(n, q.Filter.Limit), q.Want, "%v", q.Filter)
				require.Positive(t, q.Want)
			}
		}
	}
}

func TestAMentionFindsAbout21Events(t *testing.T) {
	t.Parallel()
	about := map[string]int{}
	for _, ev := range bench.Drafts("stored", 21_000, 0) {
		p, _ := ev.Tag("p")
		about[p]++
	}
	require.InDelta(t, 21, 21_000/float64(len(about)), 1)
}

func TestSignedEventsAreKept(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	load := func(seed uint64, at time.Time) ([]*wire.Event, bool) {
		events, made, err := bench.Cached(t.Context(), dir, "kept", 50, seed, at)
		require.NoError(t, err)
		require.Len(t, events, 50)
		for _, ev := range events {
			require.NoError(t, ev.Verify())
			require.LessOrEqual(t, int64(ev.CreatedAt), at.Unix())
		}
		return events, made
	}
	first, made := load(1, now)
	require.True(t, made)
	again, made := load(1, now.Add(24*time.Hour))
	require.False(t, made)
	require.Equal(t, first[7].Raw(), again[7].Raw())
	other, made := load(2, now)
	require.True(t, made)
	require.NotEqual(t, first[7].ID, other[7].ID)
	_, made = load(1, now.Add(31*24*time.Hour))
	require.True(t, made, "relays refuse events of long ago")
	_, made = load(1, now)
	require.True(t, made, "those of the future as well")
}

func TestSpoiltFilesAreMadeAnew(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func([]byte) []byte{
		"empty":     func([]byte) []byte { return nil },
		"cut":       func(b []byte) []byte { return b[:len(b)-200] },
		"no label":  func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] },
		"another's": func(b []byte) []byte { return bytes.Replace(b, []byte("kept 0"), []byte("else 0"), 1) },
		"no event": func(b []byte) []byte {
			return append(b[:bytes.IndexByte(b, '\n')+1], bytes.Repeat([]byte("{}\n"), 50)...)
		},
		"other versions": func(b []byte) []byte { return bytes.Replace(b, []byte(`"base":1`), []byte(`"base":10`), 1) },
	} {
		dir := t.TempDir()
		_, _, err := bench.Cached(t.Context(), dir, "kept", 50, 1, time.Now())
		require.NoError(t, err)
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		data, err := os.ReadFile(files[0])
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(files[0], spoil(data), 0o600))
		events, made, err := bench.Cached(t.Context(), dir, "kept", 50, 1, time.Now())
		require.NoError(t, err, name)
		require.True(t, made, name)
		require.Len(t, events, 50, name)
	}
}
