package race

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"fencepost/relay/wire"
)

// Options of a storm. Zero values take the defaults named here.
type Options struct {
	URL           string        // ws:// or wss://
	Connections   int           // subscribers; 16
	Subscriptions int           // ids of each connection; 3
	Publishers    int           // 4
	Topics        int           // what events are spread over; 16, at least 12
	Rate          int           // events a second of each publisher; 100
	Duration      time.Duration // how long the storm lasts, without its end; 10 s
	Patience      time.Duration // how long an answer or an event may take; 5 s
	Kind          int           // of the events, regular or ephemeral; 1
	Seed          uint64        // of what is done, not of the events' ids
}

// storedLimit is the limit of every filter. It is small so that stored events
// are cut off only in filters without since, and no relay clamps it.
const storedLimit = 50

func (o Options) withDefaults() Options {
	o.Connections = cmp.Or(o.Connections, 16)
	o.Subscriptions = cmp.Or(o.Subscriptions, 3)
	o.Publishers = cmp.Or(o.Publishers, 4)
	o.Topics = cmp.Or(o.Topics, 16)
	o.Rate = cmp.Or(o.Rate, 100)
	o.Duration = cmp.Or(o.Duration, 10*time.Second)
	o.Patience = cmp.Or(o.Patience, 5*time.Second)
	o.Kind = cmp.Or(o.Kind, 1)
	return o
}

func (o Options) validate() error {
	if o.URL == "" {
		return errors.New("the storm needs a URL")
	}
	for _, n := range []struct {
		name            string
		value, min, max int
	}{
		{"connections", o.Connections, 1, 10_000},
		{"subscriptions", o.Subscriptions, 1, 100},
		{"publishers", o.Publishers, 1, 1000},
		{"topics", o.Topics, 2 * remembered, 10_000},
		{"rate", o.Rate, 1, 10_000},
		{"kind", o.Kind, 1, 65535},
	} {
		if n.value < n.min || n.value > n.max {
			return fmt.Errorf("%s must be from %d to %d", n.name, n.min, n.max)
		}
	}
	if o.Duration <= 0 || o.Duration > time.Hour || o.Patience <= 0 || o.Patience > time.Minute {
		return errors.New("duration must be at most an hour and patience at most a minute")
	}
	if class := wire.ClassOf(o.Kind); class != wire.Regular && class != wire.Ephemeral {
		return fmt.Errorf("kind %d is replaceable: its versions would seem to be missing", o.Kind)
	}
	return nil
}
