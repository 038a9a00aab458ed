package config

import (
	"encoding/hex"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// rule checks one value; field is the pointer that the key's field returns. It
// returns "" or what the value must be.
type rule interface{ check(field any) string }

// number is the rule of int, Size and time.Duration.
type number struct {
	min, max int64 // max 0 is the largest that is safe for the type
	off      bool  // 0 is allowed and turns the limit off
	why      string
}

func (r number) check(field any) string {
	n, highest, show := measure(field)
	if r.max != 0 {
		highest = r.max
	}
	switch {
	case n == 0 && r.off:
		return ""
	case n < r.min:
		return "must be at least " + show(r.min) + r.because()
	case n > highest:
		return "must be at most " + show(highest)
	}
	return ""
}

func (r number) because() string {
	switch {
	case r.off:
		return ", or 0 to turn it off"
	case r.why != "":
		return ": " + r.why
	}
	return ""
}

// orChosen is the rule of a number that is 0 where the relay chooses it.
type orChosen struct{ number }

func (r orChosen) check(field any) string {
	text := r.number.check(field)
	if n, _, _ := measure(field); n == 0 || text == "" {
		return ""
	}
	return text + ", or 0 to leave it to the relay"
}

// measure returns a field's value, the largest one that is safe and how to show
// a value of its type.
func measure(field any) (n, highest int64, show func(int64) string) {
	switch f := field.(type) {
	case *int:
		return int64(*f), math.MaxInt32, func(n int64) string { return strconv.FormatInt(n, 10) }
	case *Size:
		return int64(*f), min(int64(TiB), math.MaxInt), func(n int64) string { return Size(n).String() }
	case *time.Duration:
		return int64(*f), math.MaxInt64, func(n int64) string { return duration(time.Duration(n)) }
	}
	panic(fmt.Sprintf("config: %T is no number", field))
}

// text is the rule of a string.
type text func(string) string

func (r text) check(field any) string { return r(*field.(*string)) }

// anything has no rule.
func anything(string) string { return "" }

// secret is the rule of a Secret. What it returns must not tell it.
type secret func(string) string

func (r secret) check(field any) string { return r(field.(*Secret).Reveal()) }

// enum is the rule of an enumeration; only an override can break it.
type enum struct{}

func (enum) check(field any) string {
	var name string
	var err error
	switch f := field.(type) {
	case *slog.Level:
		name, err = nameOf(*f, levels), errNoChoice(levels)
	case *Format:
		name, err = nameOf(*f, formats), errNoChoice(formats)
	case *Requirement:
		name, err = nameOf(*f, requirements), errNoChoice(requirements)
	case *Creation:
		name, err = nameOf(*f, creations), errNoChoice(creations)
	}
	if name == "" {
		return err.Error()
	}
	return ""
}

func notEmpty(s string) string {
	if s == "" || strings.ContainsRune(s, 0) {
		return "must be the path of a folder"
	}
	return ""
}

func checkListen(s string) string {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return `must be an address with a port, such as "0.0.0.0:7447" or ":7447"`
	}
	return ""
}

func checkPubKey(s string) string {
	if s == "" {
		return ""
	}
	if b, err := hex.DecodeString(s); err != nil || len(b) != 32 || strings.ToLower(s) != s {
		return "must be 64 characters of lower-case hex (no npub)"
	}
	return ""
}

func checkNode(s string) string {
	if len(s) > 255 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "must be a name of at most 255 bytes, without blanks"
	}
	return ""
}

func checkDatabase(s string) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return "must be a URL such as postgres://user:password@host:5432/database, special characters escaped"
	}
	return ""
}

func checkLink(s string) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "must be an http or https URL"
	}
	return ""
}
