package arch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fencepost/regress/arch"
)

// Each rule is shown what it must refuse, and its nearest harmless neighbour.
func TestRuleRefusesWhatItIsFor(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\tx++\n", arch.MaxFunction)
	tall := strings.Repeat("var _ = 0\n", arch.MaxFile)
	tests := []struct {
		rule, path string
		src        string
		findings   int
	}{
		{"size", "a/a.go", "package a\n" + tall, 1},
		{"size", "a/a.go", "package a\n" + tall[:len(tall)-len("var _ = 0\n")], 0},
		{"size", "a/a.go", "// Table of x, long because it is a table.\npackage a\n" + tall, 0},
		{"size", "a/a_test.go", "package a\n" + tall, 0},
		{"size", "a/a.go", "package a\nfunc f(x int) {\n" + long + "}\n", 1},
		{"size", "a/a.go", "package a\nfunc f(x int) {\n" + long[:len(long)-8] + "}\n", 0},
		{"size", "a/a.go", "package a\n// f is long because it is a switch over verbs.\nfunc f(x int) {\n" + long + "}\n", 0},
		{"size", "a/a.go", "package a\n// f is long because it is a switch.\nfunc f(x int) {\n" + long + "}\nfunc g(x int) {\n" + long + "}\n", 1},

		{"sleep", "a/a_test.go", "package a\nimport \"time\"\nfunc f() { time.Sleep(1) }", 1},
		{"sleep", "a/a.go", "package a\nimport clock \"time\"\nvar f = clock.Sleep", 1},
		{"sleep", "a/a.go", "package a\nimport . \"time\"\nfunc f() { Sleep(1) }", 1},
		{"sleep", "a/a.go", "package a\nimport \"time\"\nfunc f() { time.NewTimer(1); other.Sleep(1) }", 0},

		{"background", "a/a.go", "package a\nimport \"context\"\nvar c = context.Background()", 1},
		{"background", "a/a.go", "package a\nimport \"context\"\nvar c = context.TODO()", 1},
		{"background", "a/a_test.go", "package a\nimport \"context\"\nvar c = context.Background()", 0},
		{"background", "cmd/fencepost/main.go", "package main\nimport \"context\"\nvar c = context.Background()", 0},

		{"goroutines", "a/a.go", "package a\nfunc f() { go f() }", 1},
		{"goroutines", "a/a.go", "package a\nfunc f() { defer func() { go func() {}() }() }", 1},
		{"goroutines", "a/a.go", "package a\nfunc f(g *sync.WaitGroup) { g.Go(func() {}) }", 1},
		{"goroutines", "a/a.go", "package a\nfunc f(g *Group) { g.Go(\"name\", func(ctx context.Context) {}) }", 0},
		{"goroutines", "lifecycle/group.go", "package lifecycle\nfunc f() { go f() }", 0},
		{"goroutines", "regress/race/a.go", "package race\nfunc f() { go f() }", 1},
		{"goroutines", "regress/explore/a.go", "package explore\nfunc f() { go f() }", 0},
		{"goroutines", "a/a_test.go", "package a\nfunc f() { go f() }", 0},

		{"init", "a/a_test.go", "package a\nfunc init() {}", 1},
		{"init", "a/a.go", "package a\nfunc (x T) init() {}\nfunc initialise() {}", 0},

		{"skips", "a/a_test.go", "package a\nimport \"testing\"\nfunc f(t *testing.T) { t.Skip(); t.SkipNow(); t.Skip(\" \"); t.Skipf(``) }", 4},
		{"skips", "a/a_test.go", "package a\nimport \"testing\"\nfunc f(t *testing.T) { t.Skip(\"no PostgreSQL\"); s.Skip() }", 0},
	}
	for _, test := range tests {
		found := perFile[test.rule](parse(t, test.path, test.src))
		assert.Len(t, found, test.findings, "%s of %s:\n%.200s", test.rule, test.path, test.src)
	}
}

func TestArrowsGoOneWay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path    string
		imports string
		allowed bool
	}{
		{"cmd/fencepost/serve.go", "fencepost/relay", true},
		{"cmd/fencepost/race.go", "fencepost/regress/race", true},
		{"cmd/fencepost/race.go", "fencepost/regress/explore", false},
		{"cmd/fencepost/serve.go", "fencepost/relay/store/embedded", false},
		{"cmd/fencepost/serve.go", "fencepost/handlers", false},
		{"relay/run.go", "fencepost/relay/conn", true},
		{"relay/run.go", "fencepost/regress/race", false},
		{"relay/run.go", "fencepost/cmd/fencepost", false},
		{"relay/build.go", "fencepost/relay/store/embedded", true},
		{"relay/run.go", "fencepost/relay/store/embedded", false},
		{"relay/run_test.go", "fencepost/relay/store/embedded", true},
		{"handlers/req.go", "fencepost/lifecycle", true},
		{"handlers/req.go", "fencepost/registry/index", false},
		{"handlers/req.go", "fencepost/relay/access", false},
		{"handlers/req.go", "fencepost/relay", false},
		{"handlers/req.go", "fencepost/relay/store/storetest", false},
		{"handlers/req_test.go", "fencepost/relay/store/storetest", true},
		{"handlers/req_test.go", "fencepost/registry/index", false},
		{"handlers/req_test.go", "fencepost/regress/race", false},
		{"handlers/req_test.go", "fencepost/regress/harness", true},
		{"handlers/req.go", "fencepost/regress/harness", false},
		{"relay/conn/conn.go", "fencepost/registry/session", true},
		{"relay/conn/conn.go", "fencepost/handlers", false},
		{"relay/outbox/follower.go", "fencepost/registry/index", false},
		{"relay/web/info.go", "fencepost/relay/config", true},
		{"relay/outbox/follower.go", "fencepost/relay/config", false},
		{"relay/store/embedded/keys.go", "fencepost/relay/store", true},
		{"relay/store/embedded/keys_test.go", "fencepost/relay/store/embedded", true},
		{"relay/store/embedded/keys.go", "fencepost/relay/store/postgres", false},
		{"relay/store/store.go", "fencepost/lifecycle", false},
		{"relay/wire/event.go", "fencepost/relay/store", false},
		{"relay/wire/event.go", "github.com/nbd-wtf/go-nostr", true},
		{"relay/wire/event.go", "github.com/nbd-wtf/go-nostr/nip13", true},
		{"relay/wire/event.go", "github.com/tidwall/gjson", false},
		{"relay/wire/event.go", "encoding/json", true},
		{"relay/wire/event_test.go", "github.com/stretchr/testify/require", true},
		{"registry/index/index.go", "fencepost/lifecycle", true},
		{"registry/index/index.go", "fencepost/registry/session", false},
		{"lifecycle/conn.go", "fencepost/lifecycle/pause", true},
		{"lifecycle/conn.go", "fencepost/lifecycle/fence", false},
		{"lifecycle/conn.go", "fencepost/registry/index", false},
		{"lifecycle/pause/pause.go", "fencepost/lifecycle", false},
		{"regress/explore/run.go", "fencepost/relay", true},
		{"regress/race/storm.go", "fencepost/relay/wire", true},
		{"regress/race/storm.go", "fencepost/relay", false},
		{"regress/race/storm_test.go", "fencepost/relay/store/storetest", true},
		{"relay/unknown/x.go", "strings", false},
		{"tools.go", "strings", false},
	}
	for _, test := range tests {
		found := arch.Imports(parse(t, test.path, "package x\nimport _ \""+test.imports+"\"\n"))
		assert.Equal(t, test.allowed, len(found) == 0, "%s imports %s: %v", test.path, test.imports, found)
	}
}

func TestTestCodeReachedByTheCommandIsFound(t *testing.T) {
	t.Parallel()
	files := []*arch.File{
		parse(t, "regress/race/storm.go", "package race\nimport \"fencepost/relay/client\"\nimport \"fmt\""),
		parse(t, "relay/client/client.go", "package client\nimport \"github.com/stretchr/testify/require\""),
		parse(t, "relay/client/client_test.go", "package client\nimport \"testing\""),
		parse(t, "regress/explore/run.go", "package explore\nimport \"testing\""),
	}
	found := arch.Reach(files)
	require.Len(t, found, 1)
	assert.Equal(t, "relay/client/client.go", found[0].Path)

	files = append(files, parse(t, "regress/trace/trace.go", "package trace\nimport \"testing/synctest\""))
	assert.Len(t, arch.Reach(files), 2)
}

func TestPackageWithoutContractOrNameIsFound(t *testing.T) {
	t.Parallel()
	doc := parse(t, "relay/conn/doc.go", "// Package conn serves one socket.\npackage conn\n")
	assert.Empty(t, arch.Packages([]*arch.File{doc, parse(t, "relay/conn/conn.go", "package conn\n")}))
	assert.Len(t, arch.Packages([]*arch.File{parse(t, "relay/conn/doc.go", "package conn\n")}), 1)
	assert.Len(t, arch.Packages([]*arch.File{parse(t, "relay/conn/conn.go", "// Package conn is.\npackage conn\n")}), 1)
	assert.Len(t, arch.Packages([]*arch.File{parse(t, "relay/util/doc.go", "// Package util is.\npackage util\n")}), 1)
}

func parse(t *testing.T, path, src string) *arch.File {
	t.Helper()
	f, err := arch.Parse(path, []byte(src))
	require.NoError(t, err)
	return f
}
