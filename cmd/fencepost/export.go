package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"fencepost/relay"
	"fencepost/relay/config"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// exportCommand writes the stored events in their wire form. The order is that
// of a query, newest created_at first, ties by lowest id, so that memory stays
// bounded and two exports of one state are equal. What has expired is left out.
// An import of the output gives the same set again.
type exportCommand struct {
	settings
	Filter []string `help:"Only events that match this filter (NIP-01, JSON). May be given several times." placeholder:"JSON" sep:"none"`
}

// Run writes to standard output. No relay may be running on the data folder; replicas
// over a database may, and the export is what was stored at one moment.
func (c *exportCommand) Run(ctx context.Context, p *process) (err error) {
	filters, err := c.filters()
	if err != nil {
		return err
	}
	cfg, err := c.load(p)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	found, err := relay.HoldsStore(ctx, cfg)
	if err == nil && !found {
		err = fmt.Errorf("no store in %s", place(cfg))
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	s, err := openStore(ctx, cfg, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := export(ctx, s, filters, p.stdout); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// filters returns what is asked for, everything when nothing is said.
func (c *exportCommand) filters() ([]*wire.Filter, error) {
	if len(c.Filter) == 0 {
		c.Filter = []string{"{}"}
	}
	var out []*wire.Filter
	for _, text := range c.Filter {
		f, err := wire.DecodeFilter([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("filter %s: %w", text, err)
		}
		out = append(out, f)
	}
	return out, nil
}

// place says where a store is, for messages.
func place(cfg config.Config) string {
	if cfg.Store.Postgres.URL != "" {
		return "the database of store.postgres.url"
	}
	return cfg.Data
}

// openStore opens the store for a command, which needs an embedded one to itself.
func openStore(ctx context.Context, cfg config.Config, p *process) (store.Store, error) {
	var level slog.LevelVar
	s, err := relay.OpenStore(ctx, cfg, newLogger(p.stderr, cfg.Log, &level))
	return s, advise(err)
}

// advise adds to an error about a store what to do about it.
func advise(err error) error {
	if errors.Is(err, store.ErrInUse) {
		return fmt.Errorf("%w: stop the relay that runs on it first", err)
	}
	return err
}

func export(ctx context.Context, s store.Store, filters []*wire.Filter, w io.Writer) (err error) {
	snapshot, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	out := bufio.NewWriterSize(w, 64<<10)
	err = store.Each(ctx, snapshot, filters, store.QueryOptions{}, func(e *wire.Event) error { return writeLine(out, e.Raw()) })
	if err != nil {
		return err
	}
	return out.Flush()
}

func writeLine(out *bufio.Writer, line []byte) error {
	if _, err := out.Write(line); err != nil {
		return err
	}
	return out.WriteByte('\n')
}
