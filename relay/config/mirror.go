package config

import (
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// Mirror is one table of [[mirror]]: another relay that this one is kept alike.
type Mirror struct {
	URL       string       // ws or wss
	Filter    *wire.Filter // what is mirrored; without since, until, limit and search
	Direction string       // down, up or both
	Start     string       // now, all, since or reconcile
	Since     time.Time    // with since
}

var (
	directions = []string{"down", "up", "both"}
	starts     = []string{"now", "all", "reconcile"}
)

// mirrors reads [[mirror]].
func (l *loader) mirrors(raw any) {
	tables, ok := raw.([]map[string]any)
	if !ok {
		l.problem(Problem{Key: "mirror", Text: "must be tables: [[mirror]]"})
		return
	}
	for i, table := range tables {
		l.mirror(fmt.Sprintf("mirror[%d]", i+1), table)
	}
}

func (l *loader) mirror(name string, table map[string]any) {
	m := Mirror{Direction: "down", Start: "now", Filter: wire.NewFilter(nostr.Filter{})}
	set := map[string]func(string) string{
		"url":       m.setURL,
		"filter":    m.setFilter,
		"direction": func(s string) string { m.Direction = s; return among(s, directions) },
		"start":     m.setStart,
	}
	good := true
	problem := func(key, text string) {
		good = false
		l.problem(Problem{Key: name + "." + key, Text: text})
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		s, isText := table[key].(string)
		switch f := set[key]; {
		case f == nil:
			problem(key, "unknown key")
		case !isText:
			problem(key, "must be a string")
		default:
			if text := f(s); text != "" {
				problem(key, text)
			}
		}
	}
	if _, ok := table["url"]; !ok {
		problem("url", "is missing")
	}
	if good {
		l.config.Mirrors = append(l.config.Mirrors, m)
	}
}

func (m *Mirror) setURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "ws" && u.Scheme != "wss") || u.Host == "" || u.User != nil || u.Fragment != "" {
		return "must be a URL with ws:// or wss://"
	}
	m.URL = s
	return ""
}

func (m *Mirror) setFilter(s string) string {
	message, err := wire.Decode([]byte(`["REQ","x",` + s + `]`))
	req, ok := message.(*wire.ReqMessage)
	if err != nil || !ok || len(req.Filters) != 1 {
		return `must be one filter of NIP-01, such as '{"kinds":[0,3,10002]}'`
	}
	f := req.Filters[0]
	if f.Since != nil || f.Until != nil || f.Limit != 0 || f.LimitZero || f.Search != "" {
		return "must have no since, until, limit or search"
	}
	m.Filter = f
	return ""
}

func (m *Mirror) setStart(s string) string {
	if at, err := time.Parse(time.RFC3339, s); err == nil && at.Unix() > 0 {
		m.Start, m.Since = "since", at
		return ""
	}
	m.Start = s
	if text := among(s, starts); text != "" {
		return text + ", or a time such as 2026-01-31T00:00:00Z"
	}
	return ""
}

func among(s string, words []string) string {
	if slices.Contains(words, s) {
		return ""
	}
	return "must be " + strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// writeMirrors writes what mirrors reads back.
func (c Config) writeMirrors(w io.Writer) {
	fmt.Fprint(w, "\n# Other relays that this one is kept alike, each a table (a change needs a restart):\n"+
		"#   [[mirror]]\n#   url = \"wss://relay.example.com\"\n"+
		"#   filter = '{\"kinds\":[0,3,10002]}'  # everything when it is missing\n"+
		"#   direction = \"down\"  # from there to here; up: from here to there; both\n"+
		"#   start = \"now\"  # with new events; all, reconcile (NIP-77), or a time\n")
	for _, m := range c.Mirrors {
		start := m.Start
		if start == "since" {
			start = m.Since.Format(time.RFC3339)
		}
		fmt.Fprintf(w, "\n[[mirror]]\nurl = %s\nfilter = %s\ndirection = %s\nstart = %s\n",
			literal(&m.URL), literal(ptr(string(wire.AppendFilter(nil, m.Filter)))), literal(&m.Direction), literal(&start))
	}
}

func ptr[T any](v T) *T { return &v }
