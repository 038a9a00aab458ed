package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"fencepost/relay"
	"fencepost/relay/config"
)

// migrateCopyCommand moves a store from a data folder into a database, or back.
type migrateCopyCommand struct {
	Config string `help:"Configuration file (TOML) for logging and caches. Default: $$FENCEPOST_CONFIG, or none." placeholder:"FILE"`
	From   string `help:"Store to copy: a data folder, or postgres://user@host:port/database (the password may be in $$PGPASSWORD)." required:"" placeholder:"STORE"`
	To     string `help:"Empty store to copy into, named the same way; or one into which the same copy was interrupted." required:"" placeholder:"STORE"`
}

// Run prints what both stores hold, and their digests. No relay may run on either.
func (c *migrateCopyCommand) Run(ctx context.Context, p *process) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	from, err := c.load(p, c.From)
	if err != nil {
		return err
	}
	to, err := c.load(p, c.To)
	if err != nil {
		return err
	}
	line := newProgress(p.stderr, isTerminal(p.stderr), time.Now)
	var level slog.LevelVar
	done, err := relay.CopyStore(ctx, from, to, newLogger(p.stderr, from.Log, &level), line.say)
	line.clear()
	if done.Copy.Digest != "" {
		fmt.Fprintf(p.stdout, "original: %s, digest %s\n", done.Original.Count, done.Original.Digest)
		fmt.Fprintf(p.stdout, "copy:     %s, digest %s\n", done.Copy.Count, done.Copy.Digest)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = fmt.Errorf("%w; the same command goes on", context.Cause(ctx))
	case errors.Is(err, relay.ErrOtherKey):
		err = fmt.Errorf("the target is not empty: a relay has run on it; copy into a new database or folder (%w)", err)
	}
	return fmt.Errorf("migrate: %w", advise(err))
}

// load returns the configuration with the store that name says.
func (c *migrateCopyCommand) load(p *process, name string) (config.Config, error) {
	return settings{Config: c.Config}.load(p, func(c *config.Config) {
		if strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://") {
			c.Store.Postgres.URL = config.Secret(name)
			return
		}
		c.Store.Postgres.URL, c.Data = "", name
	})
}
