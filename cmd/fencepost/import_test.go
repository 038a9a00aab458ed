package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	main "fencepost/cmd/fencepost"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

const testdata = "../../regress/testdata/events.jsonl"

// TestTestdataIsWhatItsGeneratorWrites stands here because the go command does
// not look for tests below testdata.
func TestTestdataIsWhatItsGeneratorWrites(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile(testdata)
	require.NoError(t, err)
	require.Less(t, len(want), 3<<20)
	got, err := exec.CommandContext(t.Context(), "go", "run", "fencepost/regress/testdata/gen").Output()
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "run: go run ./regress/testdata/gen regress/testdata/events.jsonl")
}

func TestImportAndExportOfTheTestdata(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	r := main.Run(t.Context(), nil, "import", "--data", dir, testdata)
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, imported, r.Stdout)

	exported := main.Run(t.Context(), nil, "export", "--data", dir)
	require.Zero(t, exported.Code, exported.Stderr)
	require.Empty(t, exported.Stderr)
	events := decodeLines(t, exported.Stdout)
	require.Equal(t, exportedEvents, len(events))
	require.True(t, slowImport(t, 0) == exported.Stdout, "the same set as by the slow and obvious store")
	require.True(t, exported == main.Run(t.Context(), nil, "export", "--data", dir), "the order is stable")

	copied := filepath.Join(t.TempDir(), "copy")
	r = main.Run(t.Context(), strings.NewReader(exported.Stdout), "import", "--data", copied, "-")
	require.Equal(t, fmt.Sprintf("stored %d, duplicate 0, refused 0\n", exportedEvents), r.Stdout, r.Stderr)
	require.True(t, exported == main.Run(t.Context(), nil, "export", "--data", copied), "an import of an export gives the same set")

	// A version that was replaced comes back where the newer one was deleted by
	// its id, so that a second import is not without effect.
	const again = 800
	r = main.Run(t.Context(), firstLines(t, again), "import", "--data", dir, "-")
	require.Equal(t, importedAgain, r.Stdout)
	require.True(t, slowImport(t, again) == main.Run(t.Context(), nil, "export", "--data", dir).Stdout)
}

// firstLines returns the first n lines of the testdata.
func firstLines(t *testing.T, n int) *bytes.Reader {
	t.Helper()
	data, err := os.ReadFile(testdata)
	require.NoError(t, err)
	return bytes.NewReader(bytes.Join(bytes.SplitAfterN(data, []byte("\n"), n+1)[:n], nil))
}

// slowImport returns the export after an import of the testdata, and then of its
// first lines again, by way of the fake store.
func slowImport(t *testing.T, again int) string {
	t.Helper()
	data, err := io.ReadAll(io.MultiReader(firstLines(t, 3000), firstLines(t, again)))
	require.NoError(t, err)
	fake := storetest.NewFake(time.Now)
	for line := range bytes.Lines(data) {
		e, err := wire.DecodeEvent(bytes.TrimSpace(line))
		require.NoError(t, err)
		if e.Class() != wire.Ephemeral {
			fake.Append(t.Context(), []store.Write{{Event: e}})
		}
	}
	snapshot, err := fake.Snapshot(t.Context())
	require.NoError(t, err)
	rows, err := snapshot.Query(t.Context(), []*wire.Filter{wire.NewFilter(nostr.Filter{})}, store.QueryOptions{})
	require.NoError(t, err)
	records, err := rows.Next(t.Context(), nil, 1<<20)
	require.NoError(t, err)
	var out strings.Builder
	for i, r := range records {
		if i > 0 {
			a, b := records[i-1].Event, r.Event
			require.True(t, a.CreatedAt > b.CreatedAt || a.CreatedAt == b.CreatedAt && a.ID < b.ID, "line %d", i+1)
		}
		out.Write(r.Event.Raw())
		out.WriteByte('\n')
	}
	require.NoError(t, errors.Join(rows.Close(), snapshot.Close(), fake.Close()))
	return out.String()
}

func TestExportFilters(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	require.Zero(t, main.Run(t.Context(), firstLines(t, 600), "import", "--data", dir, "-").Code)
	all := decodeLines(t, main.Run(t.Context(), nil, "export", "--data", dir).Stdout)
	for _, filters := range [][]string{
		{`{"kinds":[0,3]}`},
		{`{"#t":["relay"],"kinds":[1,30023]}`, `{"kinds":[7]}`},
		{fmt.Sprintf(`{"authors":[%q],"since":1736000000}`, all[0].PubKey)},
		{`{"kinds":[4444]}`},
	} {
		args := []string{"export", "--data", dir}
		var parsed []*wire.Filter
		for _, text := range filters {
			f, err := wire.DecodeFilter([]byte(text))
			require.NoError(t, err)
			parsed, args = append(parsed, f), append(args, "--filter", text)
		}
		var want []string
		for _, e := range all {
			if wire.MatchesAny(parsed, e) {
				want = append(want, e.ID)
			}
		}
		r := main.Run(t.Context(), nil, args...)
		require.Zero(t, r.Code, r.Stderr)
		var got []string
		for _, e := range decodeLines(t, r.Stdout) {
			got = append(got, e.ID)
		}
		require.Equal(t, want, got, filters)
	}
	limited := main.Run(t.Context(), nil, "export", "--data", dir, "--filter", `{"limit":7}`)
	require.Len(t, decodeLines(t, limited.Stdout), 7)
}

func TestExportRefuses(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	r := main.Run(t.Context(), nil, "export", "--data", missing)
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, missing)
	require.NoDirExists(t, missing, "an export makes no folder")

	foreign := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "letter.txt"), []byte("dear"), 0o600))
	r = main.Run(t.Context(), nil, "export", "--data", foreign)
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "no store in "+foreign)
	files, err := os.ReadDir(foreign)
	require.NoError(t, err)
	require.Len(t, files, 1, "an export makes no store")

	r = main.Run(t.Context(), nil, "export", "--data", t.TempDir(), "--filter", `{"kindz":[1]}`)
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, `filter {"kindz":[1]}: `)
}

func TestImportOfNothingUsefulFails(t *testing.T) {
	t.Parallel()
	r := main.Run(t.Context(), strings.NewReader("# a list\n- of things\n"), "import", "--data", t.TempDir(), "-")
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stdout, "stored 0, duplicate 0, refused 2")
	require.Zero(t, main.Run(t.Context(), strings.NewReader("\n"), "import", "--data", t.TempDir(), "-").Code, "nothing was refused")
}

func TestRaceRefusesZeroes(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--kind", "--connections", "--rate"} {
		r := main.Run(t.Context(), nil, "race", "ws://127.0.0.1:1", flag, "0")
		require.Equal(t, 1, r.Code)
		require.Contains(t, r.Stderr, "must be above zero")
	}
}

// signedAt is not stored twice: the content makes each event another one.
func signedAt(t *testing.T, kind int, at int64, content string, tags ...nostr.Tag) *wire.Event {
	t.Helper()
	e := nostr.Event{Kind: kind, CreatedAt: nostr.Timestamp(at), Content: content, Tags: tags}
	require.NoError(t, e.Sign(strings.Repeat("0", 63)+"7"))
	return wire.NewEvent(e)
}

func TestImportCountsAndGoesOn(t *testing.T) {
	t.Parallel()
	good := signedAt(t, 1, 1700000000, "good")
	newer, older := signedAt(t, 0, 1700000009, "new"), signedAt(t, 0, 1700000001, "old")
	forged := bytes.Replace(good.Raw(), []byte(`"good"`), []byte(`"evil"`), 1)
	unsigned := bytes.Replace(good.Raw(), []byte(good.Sig[:8]), []byte("00000000"), 1)
	var spaced bytes.Buffer
	require.NoError(t, json.Indent(&spaced, signedAt(t, 1, 1700000003, "spaced").Raw(), "", " "))
	input := strings.Join([]string{
		string(good.Raw()),
		"",
		"  \t\r",
		string(good.Raw()) + "\r",
		string(forged),
		string(unsigned),
		"not json",
		string(good.Raw()) + " trailing",
		string(newer.Raw()),
		string(older.Raw()),
		string(signedAt(t, 20001, 1700000002, "gone").Raw()),
		string(signedAt(t, 1, 1700000002, "late", nostr.Tag{"expiration", "1700000003"}).Raw()),
		string(signedAt(t, 1, 1700000002, "odd", nostr.Tag{"expiration", "soon"}).Raw()),
		strings.Repeat("x", 600<<10),
		strings.ReplaceAll(spaced.String(), "\n", " "),
	}, "\n")
	dir := filepath.Join(t.TempDir(), "data")
	r := main.Run(t.Context(), strings.NewReader(input), "import", "--data", dir, "-")
	require.Zero(t, r.Code, r.Stderr)
	require.True(t, strings.HasPrefix(r.Stdout, "stored 3, duplicate 1, refused 9 ("), r.Stdout)
	require.Equal(t, 1, strings.Count(r.Stdout, "\n"))
	for _, reason := range []string{
		"event id does not match", "bad signature", "a newer version is stored", "ephemeral, never stored", "expired",
		"expiration is not a plain number of seconds", "line is longer than 524288 bytes",
	} {
		require.Contains(t, r.Stdout, reason)
	}
	require.Contains(t, r.Stderr, "line 5: invalid: event id does not match\n")
	require.Contains(t, r.Stderr, "line 14: line is longer")
	require.NotContains(t, r.Stderr, "\x1b", "no progress where there is no terminal")
}

func TestImportKeepsTheOrderOfLines(t *testing.T) {
	t.Parallel()
	// Each line replaces the one before: in any other order fewer are stored.
	var input bytes.Buffer
	const n = 600 // more than two batches
	for i := range n {
		input.Write(signedAt(t, 0, int64(1700000000+i), "version").Raw())
		input.WriteByte('\n')
	}
	dir := filepath.Join(t.TempDir(), "data")
	r := main.Run(t.Context(), &input, "import", "--data", dir, "-")
	require.Equal(t, fmt.Sprintf("stored %d, duplicate 0, refused 0\n", n), r.Stdout, r.Stderr)
	require.Len(t, decodeLines(t, main.Run(t.Context(), nil, "export", "--data", dir).Stdout), 1)
}

func TestImportFailsWhenItsInputDoes(t *testing.T) {
	t.Parallel()
	good := string(signedAt(t, 1, 1700000000, "good").Raw()) + "\n"
	broken := io.MultiReader(strings.NewReader(good), iotest.ErrReader(errors.New("cable pulled")))
	r := main.Run(t.Context(), broken, "import", "--data", filepath.Join(t.TempDir(), "data"), "-")
	require.Equal(t, 1, r.Code)
	require.Equal(t, "stored 1, duplicate 0, refused 0\n", r.Stdout, "what was read before is stored")
	require.Contains(t, r.Stderr, "fencepost: import: read line 2: cable pulled\n")
}

func TestImportThatIsInterruptedKeepsWhatItStored(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe() // never ends by itself
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for i := range 2000 {
			if _, err := fmt.Fprintf(out, "not an event %d\n", i); err != nil {
				return
			}
		}
	}()
	r := main.Run(ctx, in, "import", "--data", filepath.Join(t.TempDir(), "data"), "-")
	require.Equal(t, 1, r.Code)
	require.True(t, strings.HasPrefix(r.Stdout, "stored 0, duplicate 0, refused "), "the summary is printed all the same: %s", r.Stdout)
	require.True(t, strings.HasSuffix(r.Stderr, "fencepost: import: context canceled\n"), r.Stderr)
}

// Who may read what was said in a group is known to the relay that it comes from.
func TestImportSaysThatItBringsNoGroups(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	said := func(content string, tags ...nostr.Tag) string {
		return string(signedAt(t, 9, 1700000000, content, tags...).Raw()) + "\n"
	}
	inGroup := said("a", nostr.Tag{"h", "pizza"}) + said("b", nostr.Tag{"t", "x"}, nostr.Tag{"h", "pizza"})
	r := main.Run(t.Context(), strings.NewReader(inGroup+said("c", nostr.Tag{"t", "h"})), "import", "--data", dir, "-")
	require.Zero(t, r.Code)
	require.Equal(t, "stored 3, duplicate 0, refused 0\n", r.Stdout)
	require.Equal(t, "warning: 2 of them name a group (h tag), and import brings no groups: where this store has not that group, "+
		"everybody may read them; to move a relay use fencepost migrate copy\n", r.Stderr)

	r = main.Run(t.Context(), strings.NewReader(inGroup+said("d")), "import", "--data", dir, "-")
	require.Equal(t, "stored 1, duplicate 2, refused 0\n", r.Stdout)
	require.Empty(t, r.Stderr, "none of them was stored now")
}

func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", 200_000)
	lines, numbers, err := main.Lines(strings.NewReader("a\r\n\n"+long+"\n bb \n"+long), 150_000)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "!", "bb", "!"}, lines)
	require.Equal(t, []int{1, 3, 4, 5}, numbers)

	lines, _, err = main.Lines(strings.NewReader(long+"\n"+long), 200_000)
	require.NoError(t, err)
	require.Equal(t, []string{long, long}, lines, "the longest line allowed")
}

func TestProgressIsShownFiveTimesASecond(t *testing.T) {
	t.Parallel()
	shown := main.Progress(100, 50*time.Millisecond)
	require.Equal(t, 25+1, strings.Count(shown, "\r\x1b[K"))
	require.Contains(t, shown, "97 lines, 20/s: stored 97, duplicate 0, refused 0")
	require.True(t, strings.HasSuffix(shown, "\r\x1b[K"), "nothing is left on the line")
}

func decodeLines(t *testing.T, text string) []*wire.Event {
	t.Helper()
	var out []*wire.Event
	for _, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if l == "" {
			continue
		}
		e, err := wire.DecodeEvent([]byte(l))
		require.NoError(t, err)
		require.Equal(t, l, string(e.Raw()), "lines are in wire form")
		out = append(out, e)
	}
	return out
}

// What the testdata comes to. A change of these figures is a change of what the
// store keeps.
const (
	imported       = "stored 2899, duplicate 21, refused 80 (42 expired; 20 ephemeral, never stored; 10 a newer version is stored; 8 deleted by its author)\n"
	importedAgain  = "stored 3, duplicate 607, refused 190 (98 a newer version is stored; 77 deleted by its author; 12 expired; 3 ephemeral, never stored)\n"
	exportedEvents = 2431
)
