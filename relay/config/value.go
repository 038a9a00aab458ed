package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// set stores raw, a value as the TOML decoder returns it, in the field behind
// the pointer. The error says what the value must be.
func set(field, raw any) error {
	switch f := field.(type) {
	case *bool:
		return as(f, raw, "true or false")
	case *int:
		return setInt(f, raw)
	case *Size:
		return setSize(f, raw)
	case *[]string:
		list, err := texts(raw)
		*f = list
		return err
	case *[]netip.Prefix:
		return setPrefixes(f, raw)
	}
	var s string
	if err := as(&s, raw, "a string"); err != nil {
		return err
	}
	return setString(field, s)
}

func setString(field any, s string) error {
	if !utf8.ValidString(s) {
		return errors.New("must be valid UTF-8")
	}
	switch f := field.(type) {
	case *string:
		*f = s
	case *Secret:
		if s == masked {
			return errors.New(`must be the secret itself, "***" only stands for it in print`)
		}
		*f = Secret(s)
	case *time.Duration:
		d, err := time.ParseDuration(s)
		if err != nil {
			return errors.New(`must be a duration such as "10s", "5m" or "1h30m"`)
		}
		*f = d
	case *slog.Level:
		return oneOf(f, s, levels)
	case *Format:
		return oneOf(f, s, formats)
	case *Requirement:
		return oneOf(f, s, requirements)
	case *Creation:
		return oneOf(f, s, creations)
	default:
		panic(fmt.Sprintf("config: no way to read a %T", field))
	}
	return nil
}

// setText stores s, a value as the environment holds it.
func setText(field any, s string) error {
	switch field.(type) {
	case *bool:
		switch s {
		case "true":
			return set(field, true)
		case "false":
			return set(field, false)
		}
		return errors.New("must be true or false")
	case *int:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return errors.New("must be an integer")
		}
		return set(field, n)
	case *[]string, *[]netip.Prefix:
		list := []any{}
		for item := range strings.SplitSeq(s, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		return set(field, list)
	}
	return set(field, s)
}

func as[T any](f *T, raw any, what string) error {
	v, ok := raw.(T)
	if !ok {
		return errors.New("must be " + what)
	}
	*f = v
	return nil
}

func setInt(f *int, raw any) error {
	n, ok := raw.(int64)
	if !ok {
		return errors.New("must be an integer")
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return errors.New("must be an integer of 32 bits")
	}
	*f = int(n)
	return nil
}

func setSize(f *Size, raw any) (err error) {
	switch v := raw.(type) {
	case int64:
		*f = Size(v)
	case string:
		*f, err = ParseSize(v)
	default:
		err = errSize
	}
	return err
}

// texts returns nil for an empty list, so that equal configurations are equal.
func texts(raw any) (list []string, err error) {
	items, ok := raw.([]any)
	if !ok {
		return nil, errors.New("must be a list of strings")
	}
	for _, item := range items {
		s, ok := item.(string)
		if !ok || !utf8.ValidString(s) {
			return nil, errors.New("must be a list of strings")
		}
		list = append(list, s)
	}
	return list, nil
}

func setPrefixes(f *[]netip.Prefix, raw any) error {
	items, err := texts(raw)
	if err != nil {
		return err
	}
	var list []netip.Prefix
	for _, s := range items {
		p, err := parsePrefix(s)
		if err != nil {
			return fmt.Errorf(`%q must be an address or a prefix such as "10.0.0.0/8"`, s)
		}
		list = append(list, p)
	}
	*f = list
	return nil
}

// parsePrefix takes a bare address as a prefix of full length and an IPv4
// prefix in IPv6 form as what it means.
func parsePrefix(s string) (netip.Prefix, error) {
	if !strings.Contains(s, "/") {
		a, err := netip.ParseAddr(s)
		if err != nil || a.Zone() != "" {
			return netip.Prefix{}, errors.New("no address")
		}
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}

// choice is one value of an enumeration with its name in the file.
type choice[T comparable] struct {
	name  string
	value T
}

var (
	levels = []choice[slog.Level]{
		{"debug", slog.LevelDebug},
		{"info", slog.LevelInfo},
		{"warn", slog.LevelWarn},
		{"error", slog.LevelError},
	}
	formats      = []choice[Format]{{"text", FormatText}, {"json", FormatJSON}}
	requirements = []choice[Requirement]{
		{"none", RequireNone},
		{"write", RequireWrite},
		{"all", RequireAll},
	}
	creations = []choice[Creation]{
		{"none", CreateNone},
		{"operator", CreateOperator},
		{"anyone", CreateAnyone},
	}
)

func oneOf[T comparable](f *T, s string, choices []choice[T]) error {
	i := slices.IndexFunc(choices, func(c choice[T]) bool { return c.name == s })
	if i < 0 {
		return errNoChoice(choices)
	}
	*f = choices[i].value
	return nil
}

func nameOf[T comparable](v T, choices []choice[T]) string {
	i := slices.IndexFunc(choices, func(c choice[T]) bool { return c.value == v })
	if i < 0 {
		return ""
	}
	return choices[i].name
}

func errNoChoice[T comparable](choices []choice[T]) error {
	names := make([]string, len(choices))
	for i, c := range choices {
		names[i] = strconv.Quote(c.name)
	}
	return errors.New("must be one of " + strings.Join(names, ", "))
}
