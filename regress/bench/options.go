package bench

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"fencepost/relay/store"
)

// Target is a relay to measure.
type Target struct {
	URL string // ws:// or wss://
	PID int    // of its process on this machine; 0: nothing is given per CPU-second
}

// Options of a run. Zero values take the defaults named here.
type Options struct {
	Relay   Target
	Against Target // a second relay, measured in turn with the first; none without a URL
	// OnTmpfs is the first relay's like with its data on tmpfs, which adds a row;
	// none without a URL.
	OnTmpfs Target

	Rows     []string      // names of the rows; all that can be measured when empty
	Rounds   int           // of each row, of which the median counts; 3
	Scale    int           // 1: as the rows say
	Seed     uint64        // another one makes other events
	Patience time.Duration // how long nothing may come; 10 s
	Quick    bool          // so little work that the figures mean nothing: does all of it work?

	Cache    string // folder of signed events
	NoLimits bool   // the machine's limits are not measured
	// Disk is a folder on the disk of the relay's data. What it takes to make
	// something durable is measured there, and not at all when it is "".
	Disk string
	// OpenStore opens an empty embedded store in a folder, for the cost of a
	// commit; nil: it is not measured.
	OpenStore func(dir string) (Store, error)

	Say func(line string) // is told what is going on; nil: nobody is

	sizes sizes
}

// Store is what the cost of a commit is measured with.
type Store interface {
	Append(ctx context.Context, writes []store.Write) []store.Outcome
	Close() error
}

func (o Options) withDefaults() Options {
	if o.Rounds == 0 {
		o.Rounds = 3
	}
	if o.Scale == 0 {
		o.Scale = 1
	}
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	o.sizes = usual
	if o.Quick {
		o.sizes = quick
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	o.sizes = o.sizes.scaled(o.Scale)
	return o
}

func (o *Options) validate() error {
	switch {
	case o.Rounds < 1 || o.Rounds > 100:
		return errors.New("rounds must be from 1 to 100")
	case o.Scale < 1 || o.Scale > 100:
		return errors.New("scale must be from 1 to 100")
	case o.Patience < time.Millisecond || o.Patience > time.Hour:
		return errors.New("patience must be at most an hour")
	case o.Cache == "":
		return errors.New("a folder for signed events is needed")
	}
	for _, name := range o.Rows {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.name == name }) {
			return fmt.Errorf("there is no row %q; there are %s", name, strings.Join(RowNames(), ", "))
		}
	}
	return nil
}

// wants reports whether the row of that name is measured.
func (o *Options) wants(name string) bool {
	switch {
	case name == rowTmpfs && o.OnTmpfs.URL == "":
		return false
	case len(o.Rows) > 0:
		return slices.Contains(o.Rows, name)
	default:
		return name != rowIdle || o.Relay.PID != 0
	}
}

// peers returns the relays that rows are measured on.
func (o *Options) peers() (both []*peer, tmpfs *peer, err error) {
	for _, c := range []struct {
		name   string
		target Target
	}{{"A", o.Relay}, {"B", o.Against}, {"tmpfs", o.OnTmpfs}} {
		if c.target.URL == "" && c.name != "A" {
			continue
		}
		p := &peer{name: c.name, target: c.target}
		if p.url, err = url.Parse(c.target.URL); err != nil || p.url.Scheme != "ws" && p.url.Scheme != "wss" || p.url.Host == "" {
			return nil, nil, fmt.Errorf("%q is not a ws:// or wss:// URL", c.target.URL)
		}
		if p.process, err = openProcess(c.target.PID); err != nil {
			return nil, nil, err
		}
		if c.name == "tmpfs" {
			tmpfs = p
			continue
		}
		both = append(both, p)
	}
	return both, tmpfs, nil
}
