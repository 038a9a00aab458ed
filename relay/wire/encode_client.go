package wire

import (
	"maps"
	"slices"
	"strconv"
)

// AppendReq appends ["REQ", sub, filter, ...], which a client sends.
func AppendReq(dst []byte, sub string, filters []*Filter) []byte {
	return appendQuery(append(dst, `["REQ",`...), sub, filters)
}

// AppendCountReq appends ["COUNT", sub, filter, ...], which a client sends (NIP-45).
func AppendCountReq(dst []byte, sub string, filters []*Filter) []byte {
	return appendQuery(append(dst, `["COUNT",`...), sub, filters)
}

func appendQuery(dst []byte, sub string, filters []*Filter) []byte {
	dst = AppendString(dst, sub)
	for _, f := range filters {
		dst = AppendFilter(append(dst, ','), f)
	}
	return append(dst, ']')
}

// AppendChangesReq appends ["CHANGES", sub, {...}], which a client sends. A foreign
// cursor is sent as a text that is no token, which a relay answers with where its log
// is.
func AppendChangesReq(dst []byte, m *ChangesMessage) []byte {
	dst = append(AppendString(append(dst, `["CHANGES",`...), m.ID), ',')
	dst = AppendFilter(dst, m.Filter)
	dst = dst[:len(dst)-1] // the closing brace
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	switch {
	case m.Since.Foreign:
		dst = append(dst, `"since":""`...)
	case m.Since.IsToken:
		dst = AppendString(append(dst, `"since":`...), m.Since.Token())
	default:
		dst = strconv.AppendUint(append(dst, `"since":`...), m.Since.Position, 10)
		if m.Since.Epoch != "" {
			dst = AppendString(append(dst, `,"epoch":`...), m.Since.Epoch)
		}
	}
	if m.HasLimit {
		dst = strconv.AppendInt(append(dst, `,"limit":`...), m.Limit, 10)
	}
	dst = strconv.AppendBool(append(dst, `,"live":`...), m.Live)
	dst = strconv.AppendBool(append(dst, `,"removed":`...), m.Removed)
	return append(dst, '}', ']')
}

// AppendClose appends ["CLOSE", sub], which a client sends.
func AppendClose(dst []byte, sub string) []byte {
	return append(AppendString(append(dst, `["CLOSE",`...), sub), ']')
}

// AppendEventMessage appends ["EVENT", event], which a client sends.
func AppendEventMessage(dst []byte, e *Event) []byte {
	return append(append(append(dst, `["EVENT",`...), e.raw...), ']')
}

// AppendAuthMessage appends ["AUTH", event], which a client sends (NIP-42).
func AppendAuthMessage(dst []byte, e *Event) []byte {
	return append(append(append(dst, `["AUTH",`...), e.raw...), ']')
}

// AppendFilter appends f as JSON, tag names in alphabetical order. DecodeFilter
// gives an equal filter back when f is one that NIP-01 allows.
func AppendFilter(dst []byte, f *Filter) []byte {
	dst = append(dst, '{')
	empty := len(dst)
	field := func(name string) {
		if len(dst) > empty {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, name), ':')
	}
	list := func(name string, values []string) {
		if values != nil {
			field(name)
			dst = appendStrings(dst, values)
		}
	}
	number := func(name string, n int64) {
		field(name)
		dst = strconv.AppendInt(dst, n, 10)
	}
	list("ids", f.IDs)
	list("authors", f.Authors)
	if f.Kinds != nil {
		field("kinds")
		dst = appendInts(dst, f.Kinds)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Tags)) {
		list("#"+name, f.Tags[name])
	}
	if f.Since != nil {
		number("since", int64(*f.Since))
	}
	if f.Until != nil {
		number("until", int64(*f.Until))
	}
	if f.Limit != 0 || f.LimitZero {
		number("limit", int64(f.Limit))
	}
	if f.Search != "" {
		field("search")
		dst = AppendString(dst, f.Search)
	}
	return append(dst, '}')
}

func appendInts(dst []byte, list []int) []byte {
	dst = append(dst, '[')
	for i, n := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	return append(dst, ']')
}
