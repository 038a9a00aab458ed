package main

import (
	"context"
	"fmt"

	"fencepost/relay"
	"fencepost/relay/config"
)

// migrateCommand has the commands about the schema of a database, and the one that moves
// a store.
type migrateCommand struct {
	Status migrateStatusCommand `cmd:"" help:"Show the steps of the schema, and which of them the database has."`
	Up     migrateUpCommand     `cmd:"" help:"Bring the schema up to date, also where serve does not, since replicas of an older version run."`
	Copy   migrateCopyCommand   `cmd:"" help:"Copy a store: a data folder into a database, or back."`
}

// databaseSettings are the flags that lead to a database.
type databaseSettings struct {
	Config string `help:"Configuration file (TOML). Default: $$FENCEPOST_CONFIG, or none." placeholder:"FILE"`
}

func (s databaseSettings) load(p *process) (config.Config, error) {
	return settings{Config: s.Config}.load(p)
}

// migrateStatusCommand prints one line a step.
type migrateStatusCommand struct{ databaseSettings }

// Run prints the steps in order. It is an error when the database is of a newer
// version than the program, and none when it lacks something.
func (c *migrateStatusCommand) Run(ctx context.Context, p *process) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	cfg, err := c.load(p)
	if err != nil {
		return err
	}
	all, version, err := relay.SchemaStatus(ctx, cfg)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	for _, m := range all {
		state, note := "missing", ""
		if m.Applied {
			state = "applied"
		} else if !m.Additive && version > 0 {
			note = " (stops replicas of an older version)"
		}
		if _, err := fmt.Fprintf(p.stdout, "%04d %s %s%s\n", m.Version, state, m.Name, note); err != nil {
			return err
		}
	}
	if version > len(all) {
		return fmt.Errorf("migrate: the database has version %d, this program knows up to %d: run a newer one", version, len(all))
	}
	return nil
}

// migrateUpCommand applies what is missing.
type migrateUpCommand struct{ databaseSettings }

// Run prints what it applied. A replica of an older version that runs meanwhile can write
// nothing more after a step that does not only add; serve waits for its end instead.
func (c *migrateUpCommand) Run(ctx context.Context, p *process) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	cfg, err := c.load(p)
	if err != nil {
		return err
	}
	applied, err := relay.MigrateSchema(ctx, cfg)
	for _, m := range applied {
		fmt.Fprintf(p.stdout, "%04d applied %s\n", m.Version, m.Name)
	}
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if len(applied) == 0 {
		fmt.Fprintln(p.stdout, "the schema is up to date")
	}
	return nil
}
