package wire_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"
)

// The referee decodes the slow and obvious way: encoding/json makes a tree, and
// each rule is one line over that tree. It must agree with the package in what
// is accepted and in every value.

// object keeps what a map would lose: fields that occur twice.
type object struct {
	keys   []string
	values []any
}

func (o object) get(key string) any {
	i := slices.Index(o.keys, key)
	if i < 0 {
		return nil
	}
	return o.values[i]
}

func (o object) hasTwins() bool {
	sorted := slices.Sorted(slices.Values(o.keys))
	return len(slices.Compact(sorted)) != len(o.keys)
}

// tree reads data; not ok means that it is not one JSON value of valid text.
func tree(data []byte) (any, bool) {
	if !json.Valid(data) || !utf8.Valid(data) || hasHalfPair(data) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return branch(d), true
}

func branch(d *json.Decoder) any {
	token, err := d.Token()
	if err != nil {
		panic(err)
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, branch(d))
		}
		_, _ = d.Token()
		return list
	case json.Delim('{'):
		o := object{}
		for d.More() {
			o.keys = append(o.keys, branch(d).(string))
			o.values = append(o.values, branch(d))
		}
		_, _ = d.Token()
		return o
	default:
		return token
	}
}

var (
	escapes  = regexp.MustCompile(`\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|.)`)
	halfPair = regexp.MustCompile(`^\\u[dD][89a-fA-F]..$`)
	integer  = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
	hex64    = regexp.MustCompile(`^[0-9a-f]{64}$`)
	hex128   = regexp.MustCompile(`^[0-9a-f]{128}$`)
	tagKey   = regexp.MustCompile(`^#[a-zA-Z]$`)
)

func hasHalfPair(data []byte) bool {
	return slices.ContainsFunc(escapes.FindAll(data, -1), halfPair.Match)
}

func refDepth(v any) int {
	var inner []any
	switch v := v.(type) {
	case []any:
		inner = v
	case object:
		inner = v.values
	default:
		return 0
	}
	deepest := 0
	for _, child := range inner {
		deepest = max(deepest, refDepth(child))
	}
	return deepest + 1
}

func refInteger(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok || !integer.MatchString(n.String()) {
		return 0, false
	}
	i, err := strconv.ParseInt(n.String(), 10, 64)
	return i, err == nil
}

func refHex(v any, shape *regexp.Regexp) (string, bool) {
	s, ok := v.(string)
	return s, ok && shape.MatchString(s)
}

func refEvent(v any) (e nostr.Event, ok bool) {
	o, ok := v.(object)
	if !ok || o.hasTwins() {
		return e, false
	}
	for i, key := range o.keys {
		if !slices.Contains([]string{"id", "pubkey", "created_at", "kind", "tags", "content", "sig"}, key) && refDepth(o.values[i]) > 32 {
			return e, false
		}
	}
	var all [7]bool
	e.ID, all[0] = refHex(o.get("id"), hex64)
	e.PubKey, all[1] = refHex(o.get("pubkey"), hex64)
	e.Sig, all[2] = refHex(o.get("sig"), hex128)
	at, ok := refInteger(o.get("created_at"))
	e.CreatedAt, all[3] = nostr.Timestamp(at), ok
	kind, ok := refInteger(o.get("kind"))
	e.Kind, all[4] = int(kind), ok && kind <= 65535
	e.Content, all[5] = o.get("content").(string)
	e.Tags, all[6] = refTags(o.get("tags"))
	return e, !slices.Contains(all[:], false)
}

func refTags(v any) (nostr.Tags, bool) {
	list, ok := v.([]any)
	tags := nostr.Tags{}
	for _, v := range list {
		words, isList := v.([]any)
		tag := nostr.Tag{}
		for _, word := range words {
			s, isString := word.(string)
			ok = ok && isString
			tag = append(tag, s)
		}
		ok = ok && isList && len(words) > 0
		tags = append(tags, tag)
	}
	return tags, ok
}

func refFilter(v any) (f nostr.Filter, ok bool) {
	o, ok := v.(object)
	if !ok || o.hasTwins() {
		return f, false
	}
	for i, key := range o.keys {
		var n int64
		v := o.values[i]
		switch key {
		case "ids":
			f.IDs, ok = refStrings(v, true)
		case "authors":
			f.Authors, ok = refStrings(v, true)
		case "kinds":
			f.Kinds, ok = refKinds(v)
		case "since":
			n, ok = refInteger(v)
			since := nostr.Timestamp(n)
			f.Since = &since
		case "until":
			n, ok = refInteger(v)
			until := nostr.Timestamp(n)
			f.Until = &until
		case "limit":
			n, ok = refInteger(v)
			f.Limit, f.LimitZero = int(n), n == 0
		case "search":
			f.Search, ok = v.(string)
		default:
			if !tagKey.MatchString(key) {
				return f, false
			}
			if f.Tags == nil {
				f.Tags = nostr.TagMap{}
			}
			f.Tags[key[1:]], ok = refStrings(v, key == "#e" || key == "#p")
		}
		if !ok {
			return f, false
		}
	}
	return f, true
}

func refStrings(v any, hex bool) ([]string, bool) {
	values, ok := v.([]any)
	list := []string{}
	for _, v := range values {
		s, isString := v.(string)
		ok = ok && isString && (!hex || hex64.MatchString(s))
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list, ok
}

func refKinds(v any) ([]int, bool) {
	values, ok := v.([]any)
	list := []int{}
	for _, v := range values {
		n, isInteger := refInteger(v)
		ok = ok && isInteger && n <= 65535
		if !slices.Contains(list, int(n)) {
			list = append(list, int(n))
		}
	}
	return list, ok
}

// refMessage is a client message as the referee reads it.
type refMessage struct {
	verb, sub string
	event     nostr.Event
	filters   []nostr.Filter
	changes   refChanges
	neg       string // hex, lower case
}

// refChanges is what a CHANGES holds beside its filter.
type refChanges struct {
	at            int64
	token, epoch  string // of since, and beside it
	hasLimit      bool
	limit         int64
	live, removed bool
}

func refDecode(data []byte) (m refMessage, ok bool) {
	v, ok := tree(data)
	list, isList := v.([]any)
	if !ok || !isList || len(list) < 2 {
		return m, false
	}
	m.verb, _ = list[0].(string)
	switch m.verb {
	case "EVENT", "AUTH":
		m.event, ok = refEvent(list[1])
		return m, ok && len(list) == 2
	case "REQ", "COUNT", "CLOSE":
		m.sub, ok = list[1].(string)
		if n := utf8.RuneCountInString(m.sub); !ok || n == 0 || n > 64 || (len(list) == 2) != (m.verb == "CLOSE") {
			return m, false
		}
		for _, v := range list[2:] {
			f, isFilter := refFilter(v)
			ok = ok && isFilter && m.verb != "CLOSE"
			if !slices.ContainsFunc(m.filters, func(g nostr.Filter) bool { return reflect.DeepEqual(refSorted(f), refSorted(g)) }) {
				m.filters = append(m.filters, f)
			}
		}
		return m, ok
	case "CHANGES":
		m.sub, ok = list[1].(string)
		if n := utf8.RuneCountInString(m.sub); !ok || n == 0 || n > 64 || len(list) != 3 {
			return m, false
		}
		var f nostr.Filter
		m.changes, f, ok = refFeed(list[2])
		m.filters = []nostr.Filter{f}
		return m, ok
	case "NEG-OPEN", "NEG-MSG", "NEG-CLOSE":
		return m, refNeg(&m, list)
	default:
		return m, false
	}
}

// refNeg reads the elements of a NIP-77 message.
func refNeg(m *refMessage, list []any) (ok bool) {
	want := map[string]int{"NEG-OPEN": 4, "NEG-MSG": 3, "NEG-CLOSE": 2}[m.verb]
	m.sub, ok = list[1].(string)
	if n := utf8.RuneCountInString(m.sub); !ok || n == 0 || n > 64 || len(list) != want {
		return false
	}
	if m.verb == "NEG-CLOSE" {
		return true
	}
	if m.verb == "NEG-OPEN" {
		f, isFilter := refFilter(list[2])
		m.filters, ok = []nostr.Filter{f}, isFilter
	}
	text, isText := list[len(list)-1].(string)
	m.neg = strings.ToLower(text)
	return ok && isText && regexp.MustCompile(`^([0-9a-fA-F]{2})+$`).MatchString(text)
}

// refFeed takes out what is no filter's and reads the rest as one.
func refFeed(v any) (c refChanges, f nostr.Filter, ok bool) {
	o, ok := v.(object)
	if !ok || o.hasTwins() {
		return c, f, false
	}
	rest := object{}
	for i, key := range o.keys {
		v := o.values[i]
		switch key {
		case "since":
			if c.token, ok = v.(string); !ok {
				c.at, ok = refInteger(v)
			} else {
				c.token = "token " + c.token
			}
		case "epoch":
			c.epoch, ok = v.(string)
		case "limit":
			c.limit, ok = refInteger(v)
			c.hasLimit = true
		case "live":
			c.live, ok = v.(bool)
		case "removed":
			c.removed, ok = v.(bool)
		case "until", "search":
			ok = false
		default:
			rest.keys, rest.values = append(rest.keys, key), append(rest.values, v)
		}
		if !ok {
			return c, f, false
		}
	}
	f, ok = refFilter(rest)
	return c, f, ok
}

// refToken is the shape of a token: epoch, position and digits.
var refToken = regexp.MustCompile(`(?s)^token ([^:]{1,64}):(0|[1-9][0-9]{0,18}):([0-9a-f]{16})$`)

// cursor returns what since and epoch come to.
func (c refChanges) cursor() (at int64, epoch, prefix string, foreign bool) {
	if c.token == "" {
		return c.at, c.epoch, "", false
	}
	parts := refToken.FindStringSubmatch(c.token)
	if parts == nil {
		return 0, "", "", true
	}
	at, err := strconv.ParseInt(parts[2], 10, 64)
	return at, parts[1], parts[3], err != nil
}

// refSorted returns f with its lists in order.
func refSorted(f nostr.Filter) nostr.Filter {
	f.IDs, f.Authors, f.Kinds, f.Tags = slices.Clone(f.IDs), slices.Clone(f.Authors), slices.Clone(f.Kinds), maps.Clone(f.Tags)
	slices.Sort(f.IDs)
	slices.Sort(f.Authors)
	slices.Sort(f.Kinds)
	for name, values := range f.Tags {
		f.Tags[name] = slices.Sorted(slices.Values(values))
	}
	return f
}
