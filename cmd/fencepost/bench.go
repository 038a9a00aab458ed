package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fencepost/regress/bench"
	"fencepost/relay"
	"fencepost/relay/config"
)

// benchCommand measures a relay with regress/bench. It is an error when a relay
// did not do all of the work that it was given; a bar that is not reached is none.
type benchCommand struct {
	URL        string        `arg:"" optional:"" help:"The relay: ws:// or wss://. It should have no data, and no limit of connections per address."`
	PID        int           `name:"pid" help:"Its process on this machine, for figures per CPU-second and memory." placeholder:"N"`
	Against    string        `help:"A second relay, measured in turn with the first." placeholder:"URL"`
	AgainstPID int           `name:"against-pid" help:"Its process." placeholder:"N"`
	OnTmpfs    string        `name:"on-tmpfs" help:"A relay like the first with its data on tmpfs, for the row about that." placeholder:"URL"`
	OnTmpfsPID int           `name:"on-tmpfs-pid" help:"Its process." placeholder:"N"`
	Rows       []string      `help:"Rows to measure instead of all: ${bench_rows}." placeholder:"ROW,..."`
	Rounds     int           `default:"3" help:"Rounds of each row, of which the median counts."`
	Quick      bool          `help:"Next to no work: says whether all works, and nothing about speed."`
	Scale      int           `default:"1" help:"So many times the stored events and subscriptions."`
	Seed       uint64        `default:"1" help:"Another one makes other events: needed for a relay that has those of an earlier run."`
	Patience   time.Duration `default:"10s" help:"How long a relay may send nothing."`
	JSON       string        `name:"json" help:"Write the report to a file as well, as JSON; - is standard output, without the tables." placeholder:"FILE"`
	Disk       string        `help:"Folder on the disk of the relay's data, to measure fsync and commits in; without one they are not measured." placeholder:"DIR"`
	Limits     bool          `default:"true" negatable:"" help:"Measure the limits of the machine as well."`
	Cache      string        `help:"Folder that keeps signed events; default: in the user's cache folder." placeholder:"DIR"`
	Markdown   []string      `help:"Measure nothing: print the report in this file, which --json wrote, as a table in Markdown; a second file, of a run at a larger scale, says what has grown." placeholder:"FILE[,FILE]"`
	Prepare    bool          `help:"Only sign the events that the same command line without this needs."`
}

var errBench = errors.New("a relay did not do all of the work; it may have these events already: use an empty folder or another --seed")

// Run measures and prints, also what was measured before an interruption.
func (c *benchCommand) Run(ctx context.Context, p *process) error {
	if len(c.Markdown) > 0 {
		return printMarkdown(p.stdout, c.Markdown)
	}
	o, err := c.options(p)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	if c.Prepare {
		if err := bench.Prepare(ctx, o); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		return nil
	}
	report, err := bench.Run(ctx, o)
	if report != nil {
		err = errors.Join(err, c.print(p.stdout, report))
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("bench: %w", context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("bench: %w", err)
	case report.Failed():
		return errBench
	}
	return nil
}

func (c *benchCommand) options(p *process) (o bench.Options, err error) {
	if c.URL == "" && !c.Prepare {
		return o, errors.New("the URL of a relay is needed")
	}
	if min(c.Rounds, c.Scale) < 1 || c.Patience <= 0 {
		return o, errors.New("rounds, scale and patience must be above zero")
	}
	o = bench.Options{
		Relay:   bench.Target{URL: c.URL, PID: c.PID},
		Against: bench.Target{URL: c.Against, PID: c.AgainstPID},
		OnTmpfs: bench.Target{URL: c.OnTmpfs, PID: c.OnTmpfsPID},
		Rows:    c.Rows, Rounds: c.Rounds, Quick: c.Quick, Scale: c.Scale, Seed: c.Seed, Patience: c.Patience,
		Cache: c.Cache, Disk: c.Disk, NoLimits: !c.Limits, OpenStore: openEmpty,
		Say: func(line string) { fmt.Fprintln(p.stderr, line) },
	}
	if o.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return o, fmt.Errorf("%w: use --cache", err)
		}
		o.Cache = filepath.Join(dir, "fencepost", "bench")
	}
	return o, nil
}

// openEmpty opens a store as a relay without a configuration file does.
func openEmpty(dir string) (bench.Store, error) {
	c := config.Default()
	c.Data = dir
	return relay.OpenStore(context.Background(), c, slog.New(slog.DiscardHandler))
}

func (c *benchCommand) print(w io.Writer, report *bench.Report) error {
	if c.JSON == "" {
		return report.Print(w)
	}
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if c.JSON == "-" {
		_, err := w.Write(data)
		return err
	}
	return errors.Join(report.Print(w), os.WriteFile(c.JSON, data, 0o644))
}

// printMarkdown prints one report, or one and what has grown in the other.
func printMarkdown(w io.Writer, files []string) error {
	if len(files) > 2 {
		return errors.New("bench: a table is of one report, or of two")
	}
	reports := make([]*bench.Report, 2)
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		reports[i] = new(bench.Report)
		if err := json.Unmarshal(data, reports[i]); err != nil {
			return fmt.Errorf("bench: report %s: %w", file, err)
		}
	}
	return bench.Markdown(w, reports[0], reports[1])
}

// benchRows is for the help of --rows.
func benchRows() string { return strings.Join(bench.RowNames(), ", ") }
