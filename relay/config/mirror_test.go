package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/config"
	"fencepost/relay/wire"
)

func loadText(t *testing.T, text string) (config.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fencepost.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return config.Load(path, nil)
}

func TestMirrorsAreReadAndWritten(t *testing.T) {
	t.Parallel()
	c, err := loadText(t, `
[[mirror]]
url = "wss://a.example.com/path"

[[mirror]]
url = "ws://b.example.com:8080"
filter = '{"kinds":[0,3],"#t":["x"]}'
direction = "both"
start = "2026-01-31T00:00:00Z"
`)
	require.NoError(t, err)
	require.Len(t, c.Mirrors, 2)
	require.Equal(t, []string{"down", "now", "{}"},
		[]string{c.Mirrors[0].Direction, c.Mirrors[0].Start, string(wire.AppendFilter(nil, c.Mirrors[0].Filter))})
	require.Equal(t, []string{"both", "since"}, []string{c.Mirrors[1].Direction, c.Mirrors[1].Start})
	require.EqualValues(t, 1769817600, c.Mirrors[1].Since.Unix())
	var out bytes.Buffer
	require.NoError(t, c.WriteTOML(&out))
	require.Contains(t, out.String(), "each a table (a change needs a restart)")
	again, err := loadText(t, out.String())
	require.NoError(t, err)
	require.Equal(t, c, again)
	changed, needRestart := config.Reloadable(config.Default(), c)
	require.Empty(t, changed)
	require.Equal(t, []string{"mirror"}, needRestart)
}

func TestMirrorsThatCannotBeAreProblems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`mirror = 1`:                                                              "mirror: must be tables: [[mirror]]",
		`[mirror]`:                                                                "mirror: must be tables: [[mirror]]",
		"[[mirror]]\n":                                                            "mirror[1].url: is missing",
		"[[mirror]]\nurl = \"https://a\"":                                         "mirror[1].url: must be a URL with ws:// or wss://",
		"[[mirror]]\nurl = \"wss://a:b@c\"":                                       "mirror[1].url: must be a URL with ws:// or wss://",
		"[[mirror]]\nurl = 1":                                                     "mirror[1].url: must be a string",
		"[[mirror]]\nurl = \"ws://a\"\nfoo = 1":                                   "mirror[1].foo: unknown key",
		"[[mirror]]\nurl = \"ws://a\"\nfilter=\"x\"":                              "mirror[1].filter: must be one filter of NIP-01",
		"[[mirror]]\nurl = \"ws://a\"\nfilter='{\"limit\":0}'":                    "mirror[1].filter: must have no since, until, limit or search",
		"[[mirror]]\nurl = \"ws://a\"\nfilter='{\"search\":\"x\"}'":               "mirror[1].filter: must have no since, until, limit or search",
		"[[mirror]]\nurl = \"ws://a\"\ndirection = \"left\"":                      "mirror[1].direction: must be down, up or both",
		"[[mirror]]\nurl = \"ws://a\"\nstart = \"then\"":                          "mirror[1].start: must be now, all or reconcile, or a time",
		"[[mirror]]\nurl = \"ws://a\"\n[[mirror]]\nurl = \"a\"\nstart = \"then\"": "mirror[2].start: must be now, all or reconcile, or a time",
	} {
		_, err := loadText(t, text)
		require.ErrorContains(t, err, want, text)
	}
}
