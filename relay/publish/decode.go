package publish

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"fencepost/lifecycle/fence"
	"fencepost/relay/wire"
)

// DefaultLease is that of a call that names none.
const DefaultLease = 30 * time.Second

// change is the body of a call that changes a fence.
type change struct {
	expected, fresh string
	active          bool
	lease           int64 // seconds
}

// frame is the body of a call that publishes.
type frame struct {
	token string
	event *wire.Event
}

// decodeChange reads the body of a call that changes a fence.
func decodeChange(body []byte) (fence.Change, error) {
	c := change{lease: int64(DefaultLease / time.Second)}
	var activeSet bool
	err := object(body, map[string]func(json.RawMessage) error{
		"expected_token": text(&c.expected),
		"new_token":      text(&c.fresh),
		"active":         func(raw json.RawMessage) error { activeSet = true; return boolean(raw, &c.active) },
		"lease_seconds":  func(raw json.RawMessage) error { return whole(raw, &c.lease) },
	})
	switch {
	case err != nil:
		return fence.Change{}, err
	case !activeSet:
		return fence.Change{}, errors.New("active is missing")
	case c.lease < int64(fence.MinLease/time.Second) || c.lease > int64(fence.MaxLease/time.Second):
		return fence.Change{}, fmt.Errorf("lease_seconds is %d to %d", fence.MinLease/time.Second, fence.MaxLease/time.Second)
	}
	if err := checkToken("new_token", c.fresh); err != nil {
		return fence.Change{}, err
	}
	if c.expected != "" {
		if err := checkToken("expected_token", c.expected); err != nil {
			return fence.Change{}, err
		}
	}
	return fence.Change{
		Expected: fence.TokenOf(c.expected), New: fence.TokenOf(c.fresh), Active: c.active, Lease: time.Duration(c.lease) * time.Second,
	}, nil
}

// decodeFrame reads the body of a call that publishes. The event's id and signature are
// not checked.
func decodeFrame(body []byte) (t fence.Token, ev *wire.Event, err error) {
	var f frame
	err = object(body, map[string]func(json.RawMessage) error{
		"token": text(&f.token),
		"event": func(raw json.RawMessage) error {
			if f.event, err = wire.DecodeEvent(raw); err != nil {
				return fmt.Errorf("event: %w", err)
			}
			return nil
		},
	})
	switch {
	case err != nil:
		return t, nil, err
	case f.event == nil:
		return t, nil, errors.New("event is missing")
	}
	return fence.TokenOf(f.token), f.event, checkToken("token", f.token)
}

func checkToken(name, token string) error {
	if len(token) < fence.MinToken || len(token) > fence.MaxToken {
		return fmt.Errorf("%s has %d to %d bytes", name, fence.MinToken, fence.MaxToken)
	}
	return nil
}

var errObject = errors.New("the body is not one JSON object in UTF-8")

// object reads one JSON object and hands each member to its function. Members are known,
// by exactly their names, and come once.
func object(body []byte, members map[string]func(json.RawMessage) error) error {
	if !utf8.Valid(body) {
		return errObject
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errObject
	}
	seen := make(map[string]bool)
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return errObject
		}
		read, known := members[name]
		if !known || seen[name] {
			return fmt.Errorf("the member %.40q is not known, or comes twice", name)
		}
		seen[name] = true
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return errObject
		}
		if err := read(raw); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return errObject
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errObject
	}
	return nil
}

// text, boolean and whole refuse null and every other type.

func text(into *string) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if raw[0] != '"' || json.Unmarshal(raw, into) != nil || bytes.Contains(raw, []byte(`\u0000`)) {
			return errors.New("a token is a string without U+0000")
		}
		return nil
	}
}

func boolean(raw json.RawMessage, into *bool) error {
	if *into = string(raw) == "true"; !*into && string(raw) != "false" {
		return errors.New("active is true or false")
	}
	return nil
}

func whole(raw json.RawMessage, into *int64) error {
	if raw[0] == 'n' || json.Unmarshal(raw, into) != nil {
		return errors.New("lease_seconds is a whole number")
	}
	return nil
}
