package main_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	main "fencepost/cmd/fencepost"
	"fencepost/relay/client"
	"fencepost/relay/config"
	"fencepost/relay/wire"
)

// sides returns a relay and a data folder that have something in common, and something of
// their own, and the number of each.
func sides(t *testing.T, change ...func(*config.Config)) (url, dir string) {
	t.Helper()
	url, dir = startRelay(t, change...), filepath.Join(t.TempDir(), "data")
	conn, err := client.Dial(t.Context(), url, client.Options{})
	require.NoError(t, err)
	var lines strings.Builder
	for i := range 60 {
		e := signedAt(t, 1, 1_700_000_000+int64(i), fmt.Sprint("event ", i))
		if i < 40 {
			require.NoError(t, conn.Publish(t.Context(), e))
		}
		if i >= 20 {
			lines.Write(append(e.Raw(), '\n'))
		}
	}
	require.NoError(t, conn.Close())
	r := main.Run(t.Context(), strings.NewReader(lines.String()), "import", "--data", dir, "-")
	require.Zero(t, r.Code, r.Stderr)
	return url, dir
}

func exported(t *testing.T, dir string) []*wire.Event {
	t.Helper()
	r := main.Run(t.Context(), nil, "export", "--data", dir)
	require.Zero(t, r.Code, r.Stderr)
	return decodeLines(t, r.Stdout)
}

func remote(t *testing.T, url string) int {
	t.Helper()
	conn, err := client.Dial(t.Context(), url, client.Options{})
	require.NoError(t, err)
	n := 0
	require.NoError(t, conn.FetchAll(t.Context(), wire.NewFilter(nostr.Filter{}), func(*wire.Event) error { n++; return nil }))
	require.NoError(t, conn.Close())
	return n
}

func TestSyncMakesBothSidesAlike(t *testing.T) {
	t.Parallel()
	off := func(c *config.Config) { c.Negentropy.MaxRecords = 0 }
	small := func(c *config.Config) { c.Negentropy.MaxRecords = 10 }
	for name, test := range map[string]struct {
		how    string
		change func(*config.Config)
	}{"negotiated": {"by NIP-77", func(*config.Config) {}}, "not served": {"by REQ", off}, "too much": {"by REQ", small}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, dir := sides(t, test.change)
			for _, step := range []struct {
				args        []string
				want        string
				here, there int
			}{
				{[]string{"--filter", `{"since":1700000050}`}, "missing here 0: stored 0, refused 0; missing there 10: sent 0, refused 0", 40, 40},
				{nil, "missing here 20: stored 20, refused 0; missing there 20: sent 0, refused 0", 60, 40},
				{[]string{"--direction", "up"}, "missing here 0: stored 0, refused 0; missing there 20: sent 20, refused 0", 60, 60},
				{[]string{"--direction", "both"}, "missing here 0: stored 0, refused 0; missing there 0: sent 0, refused 0", 60, 60},
			} {
				how := test.how
				if name == "too much" && len(step.args) > 0 && step.args[0] == "--filter" {
					how = "by NIP-77" // nothing there is that new
				}
				r := main.Run(t.Context(), nil, append([]string{"sync", "--data", dir, url}, step.args...)...)
				require.Zero(t, r.Code, r.Stderr)
				require.Equal(t, "compared "+how+"; "+step.want+"\n", r.Stdout)
				require.Len(t, exported(t, dir), step.here)
				require.Equal(t, step.there, remote(t, url))
			}
		})
	}
}

func TestSyncAuthenticatesWhenItHasAKey(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		how    string
		change func(*config.Config)
	}{
		"negotiated": {"by NIP-77", func(c *config.Config) { c.Auth.Require = config.RequireAll }},
		"not served": {"by REQ", func(c *config.Config) { c.Auth.Require, c.Negentropy.MaxRecords = config.RequireAll, 0 }},
		"write":      {"by NIP-77", func(c *config.Config) { c.Auth.Require = config.RequireWrite }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, dir := startRelay(t, test.change), filepath.Join(t.TempDir(), "data")
			there := main.RunWith(t.Context(), nil, withSecret, "publish", url, "there")
			require.Zero(t, there.Code, there.Stderr)
			here := string(signedAt(t, 1, 1_700_000_000, "here").Raw()) + "\n"
			require.Zero(t, main.Run(t.Context(), strings.NewReader(here), "import", "--data", dir, "-").Code)
			r := main.RunWith(t.Context(), nil, withSecret, "sync", "--data", dir, "--direction=both", url)
			require.Zero(t, r.Code, r.Stderr)
			require.Equal(t, "compared "+test.how+"; missing here 1: stored 1, refused 0; missing there 1: sent 1, refused 0\n", r.Stdout)
			require.Len(t, exported(t, dir), 2)
		})
	}
}

// Figures of a comparison that was not held would be taken for an answer.
func TestSyncThatIsNotLetInSumsNothingUp(t *testing.T) {
	t.Parallel()
	url := startRelay(t, func(c *config.Config) { c.Auth.Require = config.RequireAll })
	r := main.Run(t.Context(), nil, "sync", "--data", filepath.Join(t.TempDir(), "data"), url)
	require.Equal(t, 1, r.Code)
	require.Empty(t, r.Stdout)
	require.Contains(t, r.Stderr, "fencepost: sync: refused: auth-required: ")
}

func TestSyncCountsWhatIsRefused(t *testing.T) {
	t.Parallel()
	url, dir := startRelay(t, func(c *config.Config) { c.Events.MaxContent = 3 }), filepath.Join(t.TempDir(), "data")
	lines := string(signedAt(t, 1, 1_700_000_000, "yes").Raw()) + "\n" + string(signedAt(t, 1, 1_700_000_001, "too long").Raw()) + "\n"
	require.Zero(t, main.Run(t.Context(), strings.NewReader(lines), "import", "--data", dir, "-").Code)
	r := main.Run(t.Context(), nil, "sync", "--data", dir, "--direction", "up", url)
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stdout, "missing there 2: sent 1, refused 1\n")
}

// What cannot be a sync touches no store, and is refused in the words of the help.
func TestSyncLooksAtItsArgumentsFirst(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	help := main.Run(t.Context(), nil, "sync", "--help").Stdout
	require.Contains(t, strings.Join(strings.Fields(help), " "), "without until, limit and search")
	for _, row := range []struct {
		args []string
		says string
	}{
		{[]string{"relay"}, `"relay" is not a ws:// or wss:// URL`},
		{[]string{"https://relay.example"}, `"https://relay.example" is not a ws:// or wss:// URL`},
		{[]string{"--filter", `{"until":5}`, "ws://x"}, "until, limit and search"},
		{[]string{"--filter", `{"limit":0}`, "ws://x"}, "until, limit and search"},
		{[]string{"--filter", `{"search":"x"}`, "ws://x"}, "until, limit and search"},
	} {
		r := main.Run(t.Context(), nil, append([]string{"sync", "--data", dir}, row.args...)...)
		require.Equal(t, 1, r.Code)
		require.Contains(t, r.Stderr, row.says)
		require.NoDirExists(t, dir)
	}
}

func TestSyncFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	for name, args := range map[string][]string{
		"no relay":      {"ws://127.0.0.1:1"},
		"no filter":     {"--filter", `[]`, "ws://127.0.0.1:1"},
		"a limit":       {"--filter", `{"limit":5}`, "ws://127.0.0.1:1"},
		"no key":        {"--auth", "ws://127.0.0.1:1"},
		"no such store": {"--data", "/dev/null/x", "ws://127.0.0.1:1"},
	} {
		if name != "no such store" {
			args = append([]string{"--data", dir}, args...)
		}
		r := main.Run(t.Context(), nil, append([]string{"sync"}, args...)...)
		require.Equal(t, 1, r.Code, name)
		require.NotEmpty(t, r.Stderr, name)
	}
}
