package arch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/regress/arch"
)

func TestLoadReadsTheModuleAndNothingElse(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		".gitignore":                "/bin/\n*.test\n",
		"relay/a.go":                "package relay",
		"relay/a_test.go":           "package relay",
		"relay/tagged.go":           "//go:build nopause\n\npackage relay",
		"relay/notes.txt":           "no go",
		"relay/testdata/b.go":       "broken",
		"bin/c.go":                  "broken",
		"regress/tools/go.mod":      "module tools",
		"regress/tools/d.go":        "broken",
		"regress/node_modules/e.go": "broken",
		".hidden/f.go":              "broken",
		"relay/bin/g.go":            "package bin",
	})
	files, err := arch.Load(root)
	require.NoError(t, err)
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	assert.Equal(t, []string{"relay/a.go", "relay/a_test.go", "relay/bin/g.go", "relay/tagged.go"}, paths)
}

func TestTopLevelNamesWhatIsSurplusAndWhatIsMissing(t *testing.T) {
	t.Parallel()
	given := map[string]string{".gitignore": "/data/\n", "data/x": "", "pkg/x.go": "package x"}
	for _, name := range arch.TopLevel {
		if name != "LICENSE" {
			given[name] = ""
		}
	}
	found, err := arch.Top(tree(t, given))
	require.NoError(t, err)
	assert.Equal(t, []arch.Finding{
		{Path: "pkg", Text: "does not belong at the top level"},
		{Path: "LICENSE", Text: "is missing at the top level"},
	}, found)
}

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}
