package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	main "fencepost/cmd/fencepost"
	"fencepost/relay/config"
)

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // parts
	}{
		{"nothing prints help", nil, 0, "Usage: fencepost <command>", ""},
		{"help", []string{"--help"}, 0, "serve", ""},
		{"help without dashes", []string{"help"}, 0, "Usage: fencepost <command>", ""},
		{"help about a command", []string{"help", "import"}, 0, "standard input", ""},
		{"help about what is none", []string{"help", "frobnicate"}, 2, "", "unexpected argument frobnicate"},
		{"help of a command", []string{"import", "--help"}, 0, "standard input", ""},
		{"unknown command", []string{"frobnicate"}, 2, "", "unexpected argument frobnicate"},
		{"unknown flag", []string{"serve", "--bogus"}, 2, "", "unknown flag --bogus"},
		{"argument left out", []string{"import"}, 2, "", `expected "<file>"`},
		{"command left out", []string{"config"}, 2, "", "print"},
		{"method left out", []string{"admin", "ws://x"}, 2, "", `expected "<method>"`},
		{"key left out", []string{"key"}, 2, "", "new"},
		{"bad number", []string{"race", "ws://x", "--rate=many"}, 2, "", "--rate"},
		{"version", []string{"version"}, 0, "fencepost dev (go", ""},
		{"version as a flag", []string{"--version"}, 0, "fencepost dev (go", ""},
		{"no such file", []string{"import", "/does/not/exist"}, 1, "", "/does/not/exist"},
		{"no such configuration", []string{"serve", "--config", "/does/not/exist"}, 1, "", "/does/not/exist"},
		{"storm without a relay", []string{"race", "ws://127.0.0.1:1"}, 1, "", "fencepost: storm: connect to ws://127.0.0.1:1: connection refused\n"},
		{"publishing without a relay", []string{"publish", "ws://127.0.0.1:1", "x"}, 1, "", "fencepost: connect to ws://127.0.0.1:1: connection refused\n"},
		{"subscribing without a relay", []string{"subscribe", "wss://127.0.0.1:1"}, 1, "", "fencepost: connect to wss://127.0.0.1:1: connection refused\n"},
		{"storm with a bad kind", []string{"race", "ws://127.0.0.1:1", "--kind=3"}, 1, "", "kind 3 is replaceable"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := main.Run(t.Context(), strings.NewReader(""), tc.args...)
			require.Equal(t, tc.code, r.Code, r)
			require.Contains(t, r.Stdout, tc.stdout)
			require.Contains(t, r.Stderr, tc.stderr)
			if tc.code == 0 {
				require.Empty(t, r.Stderr)
				return
			}
			require.Empty(t, r.Stdout)
			require.True(t, strings.HasPrefix(r.Stderr, "fencepost: "), r.Stderr)
			require.Equal(t, 1, strings.Count(r.Stderr, "\n"), "one line: %s", r.Stderr)
		})
	}
}

func TestConfigPrint(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "fencepost.toml")
	require.NoError(t, os.WriteFile(file, []byte("listen = \"127.0.0.1:1234\"\ndata = \"/from/file\"\n"), 0o600))

	r := main.RunWith(t.Context(), nil, []string{"FENCEPOST_CONFIG=" + file, "FENCEPOST_SUBSCRIPTIONS_MAX=17"},
		"config", "print", "--data", "/from/flag")
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stdout, `listen = "127.0.0.1:1234"`)
	require.Contains(t, r.Stdout, "max = 17")
	require.Contains(t, r.Stdout, `data = "/from/flag"`, "a flag wins over the file")

	again := filepath.Join(t.TempDir(), "printed.toml")
	require.NoError(t, os.WriteFile(again, []byte(r.Stdout), 0o600))
	require.Equal(t, r, main.Run(t.Context(), nil, "config", "print", "--config", again), "what is printed can be read")
}

func TestAFolderInUseIsRefusedWithWhatToDo(t *testing.T) {
	t.Parallel()
	var dir string
	startRelay(t, func(c *config.Config) { dir = c.Data })
	for _, command := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"import", "-"}, {"export"}} {
		r := main.Run(t.Context(), strings.NewReader(""), append(command, "--data", dir)...)
		require.Equal(t, 1, r.Code, command)
		require.Contains(t, r.Stderr, dir)
		require.Contains(t, r.Stderr, "in use by another process")
		require.Contains(t, r.Stderr, "stop the relay that runs on it first")
	}
}

func TestAFolderIsNotIgnoredForADatabase(t *testing.T) {
	t.Parallel()
	const url = "postgres://nobody@127.0.0.1:1/none"
	file := filepath.Join(t.TempDir(), "fencepost.toml")
	require.NoError(t, os.WriteFile(file, []byte("[store.postgres]\nurl = \""+url+"\"\n"), 0o600))
	dir := filepath.Join(t.TempDir(), "data")
	for _, command := range [][]string{
		{"serve", "--listen", "127.0.0.1:0"},
		{"import", "-"},
		{"export"},
		{"sync", "ws://127.0.0.1:1"},
		{"config", "print"},
	} {
		for _, said := range [][]string{{"FENCEPOST_STORE_POSTGRES_URL=" + url}, {"FENCEPOST_CONFIG=" + file}} {
			r := main.RunWith(t.Context(), strings.NewReader(""), said, append(command, "--data", dir)...)
			require.Equal(t, 1, r.Code, command)
			require.Equal(t, "fencepost: --data DIR is for the embedded store; store.postgres.url (FENCEPOST_STORE_POSTGRES_URL) is set: use one of them\n", r.Stderr)
			require.Empty(t, r.Stdout)
			require.NoDirExists(t, dir)
		}
	}
	r := main.RunWith(t.Context(), nil, []string{"FENCEPOST_STORE_POSTGRES_URL=" + url, "FENCEPOST_DATA=" + dir}, "config", "print")
	require.Zero(t, r.Code, "what is only configured may stay: %s", r.Stderr)
}

func TestProblemsOfTheConfigurationAreReportedTogether(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "fencepost.toml")
	require.NoError(t, os.WriteFile(file, []byte("bogus = 1\n[queue]\nmax_frames = \"many\"\n"), 0o600))
	r := main.Run(t.Context(), nil, "config", "print", "--config", file)
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "bogus")
	require.Contains(t, r.Stderr, "queue.max_frames")
	require.Equal(t, 1, strings.Count(r.Stderr, "\n"))
}
