package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// importCommand stores events as other relays export them. A line that is no
// valid event, or whose event a relay would not keep, is counted as refused and
// the import goes on; it fails when it cannot read or cannot store, and when every
// line was refused. It brings no groups (NIP-29), which an export has not: it warns
// of what it stored that names one.
type importCommand struct {
	settings
	File string `arg:"" help:"File of events, one JSON object a line; - is standard input."`
}

// Run stores the events in the order of their lines. No relay may be running on
// the data folder; replicas over a database may, and send what is new to their
// subscribers.
func (c *importCommand) Run(ctx context.Context, p *process) (err error) {
	cfg, err := c.load(p)
	if err != nil {
		return err
	}
	in, closeInput, err := c.open(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeInput()) }()
	ctx, stop := interruptible(ctx)
	defer stop()
	s, err := openStore(ctx, cfg, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	i := &importer{store: s, tally: newTally(p.stderr), progress: newProgress(p.stderr, isTerminal(p.stderr), time.Now)}
	err = i.run(ctx, newLineReader(in, int(cfg.WebSocket.MaxMessage)))
	i.progress.clear()
	fmt.Fprintln(p.stdout, i.tally.summary())
	if n := i.tally.grouped; n > 0 {
		fmt.Fprintf(p.stderr, "warning: %d of them name a group (h tag), and import brings no groups: where this store has not that group, "+
			"everybody may read them; to move a relay use fencepost migrate copy\n", n)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("import: %w", err)
	}
	if i.tally.nothing() {
		return errors.New("import: no line held an event that could be stored")
	}
	return nil
}

func (c *importCommand) open(p *process) (io.Reader, func() error, error) {
	if c.File == "-" {
		return p.stdin, func() error { return nil }, nil
	}
	f, err := os.Open(c.File)
	if err != nil {
		return nil, nil, fmt.Errorf("import: %w", err)
	}
	return f, f.Close, nil
}

// importer stores what the pipeline verified.
type importer struct {
	store    store.Store
	tally    *tally
	progress *progress
}

func (i *importer) run(ctx context.Context, lines *lineReader) error {
	return verifyLines(ctx, lines, func(b *batch) error {
		err := i.append(ctx, b)
		i.progress.show(i.tally)
		return err
	})
}

// append stores the events of a batch and counts what became of each line.
func (i *importer) append(ctx context.Context, b *batch) error {
	var writes []store.Write
	var lines []int // index in the batch of each write
	for n, e := range b.events {
		switch {
		case b.refusals[n] != nil:
		case e.Class() == wire.Ephemeral:
			b.refusals[n] = errEphemeral
		default:
			writes, lines = append(writes, store.Write{Event: e}), append(lines, n)
		}
	}
	if len(writes) > 0 {
		for n, outcome := range i.store.Append(ctx, writes) {
			b.refusals[lines[n]] = outcome.Err
		}
	}
	for n, err := range b.refusals {
		if err := i.count(b.lines[n].number, err); err != nil {
			return err
		}
		if err == nil && b.events[n].HasTag('h') {
			i.tally.grouped++
		}
	}
	return nil
}

// count counts a line that was stored (err is nil) or refused. It returns the
// error when that is neither, but a failure of the store.
func (i *importer) count(number int, err error) error {
	var refusal *wire.Error
	var reason wire.Reason
	switch {
	case err == nil:
		i.tally.stored++
	case errors.Is(err, store.ErrDuplicate):
		i.tally.duplicate++
	case errors.Is(err, store.ErrSuperseded), errors.Is(err, store.ErrDeleted), errors.Is(err, store.ErrExpired),
		errors.Is(err, errEphemeral), errors.Is(err, errTooLong), errors.As(err, &refusal), errors.As(err, &reason):
		i.refuse(number, err)
	default:
		return fmt.Errorf("line %d: %w", number, err)
	}
	return nil
}

func (i *importer) refuse(number int, why error) {
	i.progress.clear() // a message may come
	i.tally.refuse(number, why)
}

var errEphemeral = errors.New("ephemeral, never stored")
