package config

import (
	"errors"
	"log/slog"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes.
type Size int64

const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
	TiB Size = 1 << 40
)

// units are in the order in which a suffix is looked for.
var units = []struct {
	name string
	size Size
}{{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}, {"B", 1}}

var errSize = errors.New(`must be a size: bytes, or a number with B, KiB, MiB, GiB or TiB, such as "512KiB"`)

// ParseSize reads "512KiB" or "524288".
func ParseSize(s string) (Size, error) {
	unit := Size(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			s, unit = strings.TrimSuffix(rest, " "), u.size
			break
		}
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || Size(n) > math.MaxInt64/unit {
		return 0, errSize
	}
	return Size(n) * unit, nil
}

// String returns the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range units {
		if s != 0 && u.size > 1 && s%u.size == 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// Secret is a value that is never printed: fmt, slog, JSON and WriteTOML show
// "***" in its place, or nothing when it is empty.
type Secret string

const masked = "***"

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String returns "***", or "" when there is no secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Format is the form of log lines.
type Format string

const (
	FormatText Format = "text"
	FormatJSON Format = "json"
)

// Requirement says what a client must have authenticated for (NIP-42), or be a
// member of the relay for (NIP-43), beyond what single events and filters demand.
type Requirement string

const (
	RequireNone  Requirement = "none"  // only what needs it
	RequireWrite Requirement = "write" // every EVENT
	RequireAll   Requirement = "all"   // every EVENT, REQ and COUNT
)

// Creation says who may create groups (NIP-29).
type Creation string

const (
	CreateNone     Creation = "none"     // there are no groups
	CreateOperator Creation = "operator" // the key of relay.pubkey
	CreateAnyone   Creation = "anyone"   // whoever may write
)
