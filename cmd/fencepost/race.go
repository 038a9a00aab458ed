package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"fencepost/regress/race"
)

// raceCommand holds regress/race's storm against a relay. It is an error when a
// frame was stale, duplicate, missing or out of order.
type raceCommand struct {
	URL           string        `arg:"" help:"The relay: ws:// or wss://."`
	Connections   int           `default:"16" help:"Subscribing connections."`
	Subscriptions int           `default:"3" help:"Subscription ids of each connection."`
	Publishers    int           `default:"4" help:"Publishing connections."`
	Topics        int           `default:"16" help:"Topics that the events are spread over."`
	Rate          int           `default:"100" help:"Events a second of each publisher."`
	Duration      time.Duration `default:"10s" help:"How long the storm lasts."`
	Patience      time.Duration `default:"5s" help:"How long an answer or an event may take."`
	Kind          int           `default:"1" help:"Kind of the events, regular or ephemeral."`
	Seed          uint64        `default:"1" help:"Seed of what is done."`
}

var errRefused = errors.New("the relay refused most events, so little was judged")

var errRace = errors.New("the relay sent frames that it should not have sent, or lost some")

// Run holds the storm and prints its table, also that of one that was cut short.
func (c *raceCommand) Run(ctx context.Context, p *process) error {
	if err := c.check(); err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	r, err := race.Run(ctx, race.Options(*c))
	if r.Published > 0 {
		err = errors.Join(err, printReport(p.stdout, r))
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("storm: %w", context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("storm: %w", err)
	case r.Failed():
		return errRace
	case r.Refused > r.Acknowledged:
		return errRefused
	}
	return nil
}

// check refuses zeroes, which the storm's own options take for "as usual".
func (c *raceCommand) check() error {
	if min(c.Connections, c.Subscriptions, c.Publishers, c.Topics, c.Rate, c.Kind) < 1 || min(c.Duration, c.Patience) <= 0 {
		return errors.New("storm: numbers and durations must be above zero (kind 0 is replaceable)")
	}
	return nil
}

func printReport(w io.Writer, r race.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name string, n int, note string) { fmt.Fprintf(t, "%s\t%d\t%s\n", name, n, note) }
	row("events published", r.Published, "")
	row("events acknowledged", r.Acknowledged, "")
	row("events refused", r.Refused, "")
	row("generations", r.Generations, "REQs")
	row("replacements", r.Replacements, "REQs of an open id")
	row("closes", r.Closes, "each followed by a barrier")
	row("frames", r.Frames, "EVENTs received")
	row("judged", r.Judged, "pairs of event and subscription that had to meet")
	row("ended", r.Ended, "subscriptions closed by the relay")
	row("unanswered", r.Unanswered, "REQs and events")
	row("malformed", r.Malformed, "messages")
	row("cut", r.Cut, "connections")
	fmt.Fprintln(t)
	row("stale", r.Stale, "")
	row("duplicate", r.Duplicate, "")
	row("missing", r.Missing, "")
	row("out of order", r.OutOfOrder, "")
	fmt.Fprintf(t, "\ntotal\t%d\tin %s, run %s\n", r.Stale+r.Duplicate+r.Missing+r.OutOfOrder, r.Elapsed.Round(time.Millisecond), r.Run)
	for _, example := range r.Examples {
		fmt.Fprintln(t, "  "+example)
	}
	return t.Flush() // tells the errors of all before
}
