package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"fencepost/relay/config"
)

// settings are the flags that lead to a configuration.
type settings struct {
	Config string `help:"Configuration file (TOML). Default: $$FENCEPOST_CONFIG, or none." placeholder:"FILE"`
	Data   string `help:"Data folder of the embedded store, instead of the configured one." placeholder:"DIR"`
}

// errTwoStores refuses a folder beside a database: it would hold nothing.
var errTwoStores = errors.New("--data DIR is for the embedded store; store.postgres.url (FENCEPOST_STORE_POSTGRES_URL) is set: use one of them")

// load reads the configuration; flags win over the environment and the file. A data
// folder that is asked for while a database is configured is an error.
func (s settings) load(p *process, overrides ...func(*config.Config)) (config.Config, error) {
	file := s.Config
	if file == "" {
		file = p.getenv("FENCEPOST_CONFIG")
	}
	if s.Data != "" {
		overrides = append(overrides, func(c *config.Config) { c.Data = s.Data })
	}
	c, err := config.Load(file, p.environ, overrides...)
	if err != nil {
		return c, fmt.Errorf("configuration: %w", err)
	}
	if s.Data != "" && c.Store.Postgres.URL != "" {
		return c, errTwoStores
	}
	return c, nil
}

func (p *process) getenv(name string) string {
	for _, entry := range p.environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// newLogger logs to w as configured; level can be changed while it is used.
func newLogger(w io.Writer, c config.Log, level *slog.LevelVar) *slog.Logger {
	level.Set(c.Level)
	o := &slog.HandlerOptions{Level: level}
	if c.Format == config.FormatJSON {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
