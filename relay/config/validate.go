package config

import (
	"errors"
	"fmt"
	"slices"
)

// Problem is one thing that is wrong, with the key it is about.
type Problem struct {
	Key  string // "" when it is about the file as a whole
	From string // the variable that set the key, "" when it was not the environment
	Text string // "must be ..."
}

func (p *Problem) Error() string {
	switch {
	case p.Key == "":
		return p.Text
	case p.From != "":
		return p.Key + " (" + p.From + "): " + p.Text
	}
	return p.Key + ": " + p.Text
}

// Validate returns every rule that c breaks, joined, each a *Problem; nil when
// there are none.
func (c Config) Validate() error { return join(c.problems(nil)) }

// problems leaves out rules that look at a key of bad, whose value could not be
// read: what they would say follows from a default.
func (c Config) problems(bad map[string]bool) (found []*Problem) {
	broken := make(map[string]bool)
	for _, k := range keys {
		if k.rule == nil || bad[k.name] {
			broken[k.name] = bad[k.name]
			continue
		}
		if text := k.rule.check(k.field(&c)); text != "" {
			broken[k.name] = true
			found = append(found, &Problem{Key: k.name, Text: text})
		}
	}
	for _, r := range relations {
		if slices.ContainsFunc(r.keys, func(name string) bool { return broken[name] }) {
			continue
		}
		if text := r.check(c); text != "" {
			found = append(found, &Problem{Key: r.keys[0], Text: text})
		}
	}
	return found
}

func join(problems []*Problem) error {
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// What lifecycle reserves in the outbound queue. A subscription holds the bytes
// of its EOSE and CLOSED, whose id may need six bytes a character, an answer is
// OK, COUNT or CLOSED, and an EVENT frame is an event with the id before it.
const (
	reservedBytes  = 1280
	reservedFrames = 2
	answerBytes    = 1024
	framing        = 512
)

// relation is a rule between keys; the problem is reported under the first.
type relation struct {
	keys  []string
	check func(c Config) string // "" or what must be
}

var relations = []relation{
	{[]string{"queue.max_bytes", "subscriptions.max", "websocket.max_message"}, func(c Config) string {
		least := Size(c.Subscriptions.Max)*reservedBytes + c.WebSocket.MaxMessage + framing + answerBytes
		return atLeast(c.Queue.MaxBytes, least,
			"so that it holds what subscriptions.max reserves, an event of websocket.max_message and an answer")
	}},
	{[]string{"queue.max_frames", "subscriptions.max"}, func(c Config) string {
		return atLeast(c.Queue.MaxFrames, c.Subscriptions.Max*reservedFrames+2,
			"so that it holds what subscriptions.max reserves, an event and an answer")
	}},
	{[]string{"queue.hold_bytes", "queue.max_bytes"}, func(c Config) string {
		return atMost(c.Queue.HoldBytes, c.Queue.MaxBytes/2, "half of queue.max_bytes, into which it is emptied")
	}},
	{[]string{"queue.hold_frames", "queue.max_frames"}, func(c Config) string {
		return atMost(c.Queue.HoldFrames, c.Queue.MaxFrames/2, "half of queue.max_frames, into which it is emptied")
	}},
	{[]string{"events.pending_bytes", "websocket.max_message"}, func(c Config) string {
		return atLeast(c.Events.PendingBytes, c.WebSocket.MaxMessage, "so that it holds an event of websocket.max_message")
	}},
	{[]string{"presence.idle", "presence.stale"}, func(c Config) string {
		if c.Presence.Idle < c.Presence.Stale {
			return ""
		}
		return "must be less than presence.stale, or nobody would ever be idle"
	}},
	{[]string{"membership.require", "relay.pubkey"}, func(c Config) string {
		if c.Membership.Require == RequireNone || c.Relay.PubKey != "" {
			return ""
		}
		return "must be none unless relay.pubkey is set: nobody else can admit members"
	}},
	{[]string{"groups.create", "relay.pubkey"}, func(c Config) string {
		if c.Groups.Create != CreateOperator || c.Relay.PubKey != "" {
			return ""
		}
		return "must not be operator unless relay.pubkey is set"
	}},
	{[]string{"subscriptions.default_limit", "subscriptions.max_limit"}, func(c Config) string {
		if c.Subscriptions.DefaultLimit == 0 {
			return ""
		}
		return atMost(c.Subscriptions.DefaultLimit, Bound(c.Subscriptions.MaxLimit), "subscriptions.max_limit")
	}},
}

func atLeast[T int | Size](v, least T, why string) string {
	if v >= least {
		return ""
	}
	return fmt.Sprintf("must be at least %v, %s", least, why)
}

func atMost[T int | Size](v, most T, what string) string {
	if v <= most {
		return ""
	}
	return fmt.Sprintf("must be at most %v, %s", most, what)
}
