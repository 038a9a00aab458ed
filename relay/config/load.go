package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

const (
	envPrefix = "FENCEPOST_"
	envFile   = "FENCEPOST_CONFIG" // names the file; the command reads it
	envTest   = "FENCEPOST_TEST_"  // belongs to tests
)

// Load reads the file at path ("" for none), then env, a list of NAME=value as
// os.Environ returns it, then applies the overrides, and validates. The error
// joins all problems, each a *Problem.
func Load(path string, env []string, overrides ...func(*Config)) (Config, error) {
	if path == "" {
		return load("", nil, env, overrides)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("read configuration: %w", err)
	}
	return load(path, data, env, overrides)
}

func load(path string, data []byte, env []string, overrides []func(*Config)) (Config, error) {
	l := loader{config: Default(), bad: make(map[string]bool)}
	fileErr := l.file(path, data)
	l.env(env)
	for _, f := range overrides {
		f(&l.config)
	}
	if fileErr == nil {
		l.problems = append(l.problems, l.config.problems(l.bad)...)
	}
	if err := errors.Join(fileErr, join(l.problems)); err != nil {
		return Config{}, err
	}
	return l.config, nil
}

// loader collects values and problems.
type loader struct {
	config   Config
	bad      map[string]bool // keys whose value could not be read
	problems []*Problem
}

func (l *loader) problem(p Problem) { l.problems = append(l.problems, &p) }

// file returns an error only when the whole file is unreadable.
func (l *loader) file(path string, data []byte) error {
	var tree map[string]any
	if err := toml.Unmarshal(data, &tree); err != nil {
		return &Problem{Text: fmt.Sprintf("%s: %v", path, err)}
	}
	l.table("", tree)
	return nil
}

// table reads a section, "" for the file itself, and those in it.
func (l *loader) table(section string, table map[string]any) {
	for _, leaf := range slices.Sorted(maps.Keys(table)) {
		name := leaf
		if section != "" {
			name = section + "." + leaf
		}
		inner, isTable := table[leaf].(map[string]any)
		switch {
		case section == "" && leaf == "mirror":
			l.mirrors(table[leaf])
		case strings.Contains(leaf, ".") || !isSection(name): // a quoted name is another key
			l.value(section, leaf, table[leaf])
		case isTable:
			l.table(name, inner)
		default:
			l.problem(Problem{Key: name, Text: "must be a table: [" + name + "]"})
		}
	}
}

func isSection(name string) bool {
	return name != "" && slices.ContainsFunc(keys, func(k key) bool { return k.section() == name })
}

func (l *loader) value(section, leaf string, raw any) {
	i := slices.IndexFunc(keys, func(k key) bool { return k.section() == section && k.leaf() == leaf })
	if i < 0 {
		path := toml.Key{leaf}
		if section != "" {
			path = append(strings.Split(section, "."), leaf)
		}
		l.problem(Problem{Key: path.String(), Text: "unknown key"})
		return
	}
	if err := set(keys[i].field(&l.config), raw); err != nil {
		l.bad[keys[i].name] = true
		l.problem(Problem{Key: keys[i].name, Text: err.Error()})
	}
}

// isForeign reports whether a variable with our prefix is not ours: those of tests,
// and those that Kubernetes sets for a service that is called fencepost.
func isForeign(name string) bool {
	rest := strings.TrimPrefix(name, envPrefix)
	return strings.HasPrefix(name, envTest) || strings.HasPrefix(rest, "SERVICE_") ||
		rest == "PORT" || strings.HasPrefix(rest, "PORT_")
}

func (l *loader) env(env []string) {
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix) || name == envFile || isForeign(name) {
			continue
		}
		i := slices.IndexFunc(keys, func(k key) bool { return k.env() == name })
		if i < 0 {
			l.problem(Problem{Key: name, Text: "unknown variable"})
			continue
		}
		if err := setText(keys[i].field(&l.config), value); err != nil {
			l.bad[keys[i].name] = true
			l.problem(Problem{Key: keys[i].name, From: name, Text: err.Error()})
		}
	}
}
