package wire

import (
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// filter reads one object as a filter.
func (d *decoder) filter() (*Filter, bool) {
	if !d.take('{') {
		return nil, d.fail("filter is not an object")
	}
	var f nostr.Filter
	var seen filterFields
	for n := 0; ; n++ {
		more, ok := d.element(n, '}')
		if !ok {
			return nil, false
		}
		if !more {
			return NewFilter(f), true
		}
		key, ok := d.key()
		if !ok || !d.filterField(&f, key, &seen) {
			return nil, false
		}
	}
}

// filterFields marks those fields whose value does not show that they occurred.
type filterFields struct{ limit, search bool }

// filterField reads the value of one field. One that is not known is refused:
// to ignore it would widen the filter.
func (d *decoder) filterField(f *nostr.Filter, key string, seen *filterFields) (ok bool) {
	var twice bool
	switch key {
	case "ids":
		twice = f.IDs != nil
		f.IDs, ok = d.texts(key, true)
	case "authors":
		twice = f.Authors != nil
		f.Authors, ok = d.texts(key, true)
	case "kinds":
		twice = f.Kinds != nil
		f.Kinds, ok = d.kinds()
	case "since":
		twice = f.Since != nil
		f.Since, ok = d.timestamp(key)
	case "until":
		twice = f.Until != nil
		f.Until, ok = d.timestamp(key)
	case "limit":
		twice, seen.limit = seen.limit, true
		var limit int64
		limit, ok = d.integer(key)
		f.Limit, f.LimitZero = int(limit), ok && limit == 0
	case "search":
		twice, seen.search = seen.search, true
		f.Search, ok = d.text(key)
	default:
		if !isTagKey(key) {
			return d.refuse(Because(Unsupported, "filter field "+firstRunes(key, MaxSubID)))
		}
		if f.Tags == nil {
			f.Tags = make(nostr.TagMap)
		}
		_, twice = f.Tags[key[1:]]
		f.Tags[key[1:]], ok = d.texts(key, key == "#e" || key == "#p")
	}
	if twice {
		return d.fail("filter has a field twice: " + key)
	}
	return ok
}

func isTagKey(key string) bool {
	return len(key) == 2 && key[0] == '#' && (key[1]|0x20 >= 'a' && key[1]|0x20 <= 'z')
}

func (d *decoder) timestamp(what string) (*nostr.Timestamp, bool) {
	n, ok := d.integer(what)
	t := nostr.Timestamp(n)
	return &t, ok
}

// texts reads a list of strings, each 64 hex digits when hex. It is never nil.
func (d *decoder) texts(what string, hex bool) ([]string, bool) {
	if !d.take('[') {
		return nil, d.fail(what + " is not a list")
	}
	list := []string{}
	if hex {
		// No bracket stands in hex, so the next one tells the length.
		size := max(0, strings.IndexByte(d.s[d.i:], ']'))
		list = make([]string, 0, size/len(`"",`+"0123456789012345678901234567890123456789012345678901234567890123")+1)
	}
	for n := 0; ; n++ {
		more, ok := d.element(n, ']')
		if !more {
			return list, ok
		}
		var v string
		if hex {
			v, ok = d.hex(what, 64)
		} else {
			v, ok = d.text(what)
		}
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
}

// kinds reads a list of kinds. It is never nil.
func (d *decoder) kinds() ([]int, bool) {
	if !d.take('[') {
		return nil, d.fail("kinds is not a list")
	}
	list := make([]int, 0, 4)
	for n := 0; ; n++ {
		more, ok := d.element(n, ']')
		if !more {
			return list, ok
		}
		kind, ok := d.kind()
		if !ok {
			return nil, false
		}
		list = append(list, kind)
	}
}
