package config

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// WriteTOML writes every key with its meaning and value. Load reads the output
// back to an equal configuration, except for secrets, which are shown as "***".
func (c Config) WriteTOML(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# Configuration of Fencepost. Every key but those of [[mirror]] can also be set by the environment as\n"+
		"# %s<SECTION>_<KEY>, for example %s; lists are separated by commas.\n", envPrefix, keys[len(keys)-1].env())
	section := ""
	for _, k := range keys {
		if s := k.section(); s != section {
			section = s
			fmt.Fprintf(b, "\n[%s]", section)
		}
		fmt.Fprintf(b, "\n# %s%s%s\n%s = %s\n", k.doc, c.chosen(k), k.when.note(), k.leaf(), literal(k.field(&c)))
	}
	c.writeMirrors(b)
	return b.Flush()
}

// chosen says what the machine decided where the value leaves it to that.
func (c *Config) chosen(k key) string {
	if k.field(c) != any(&c.Store.Cache) || c.Store.Cache != 0 {
		return ""
	}
	return ", here " + c.Store.CacheSize().String()
}

func (e effect) note() string {
	switch e {
	case atNextConnect:
		return " (a reload changes it for new connections)"
	case atRestart:
		return " (a change needs a restart)"
	}
	return ""
}

// literal returns the value behind the pointer as TOML.
func literal(field any) string {
	switch f := field.(type) {
	case *bool:
		return strconv.FormatBool(*f)
	case *int:
		return strconv.Itoa(*f)
	case *string:
		return quote(*f)
	case *Secret:
		return quote(f.String())
	case *Size:
		return quote(f.String())
	case *time.Duration:
		return quote(duration(*f))
	case *slog.Level:
		return quote(nameOf(*f, levels))
	case *Format:
		return quote(string(*f))
	case *Requirement:
		return quote(string(*f))
	case *Creation:
		return quote(string(*f))
	case *[]string:
		return list(*f, func(s string) string { return s })
	case *[]netip.Prefix:
		return list(*f, netip.Prefix.String)
	}
	panic(fmt.Sprintf("config: no way to write a %T", field))
}

func list[T any](items []T, show func(T) string) string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = quote(show(item))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// quote returns s as a basic string of TOML.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// duration is Duration.String without the zeros at its end: "15m", not "15m0s".
func duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
