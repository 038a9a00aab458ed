package web

import (
	"net/textproto"
	"strings"
)

const documentType = "application/nostr+json"

// wantsDocument decides from the Accept headers (RFC 9110 section 12.5.1)
// between the NIP-11 document and the page: the document must be named, with a
// weight that is not 0 and not below what HTML is named with.
func wantsDocument(accept []string) bool {
	document, html, anyText := 0, -1, -1 // -1 is not named
	for _, header := range accept {
		for header != "" {
			var item string
			item, header = cutUnquoted(header, ',')
			name, weight := mediaRange(item)
			switch name {
			case documentType:
				document = max(document, weight)
			case "text/html":
				html = max(html, weight)
			case "text/*":
				anyText = max(anyText, weight)
			}
		}
	}
	if html < 0 { // the more specific range decides
		html = anyText
	}
	return document > 0 && document >= html
}

// mediaRange returns type/subtype in lower case and the weight in thousandths.
// One whose weight cannot be read has weight 0.
func mediaRange(item string) (name string, weight int) {
	name, params := cutUnquoted(item, ';')
	name = strings.ToLower(textproto.TrimString(name))
	for params != "" {
		var param string
		param, params = cutUnquoted(params, ';')
		key, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(textproto.TrimString(key), "q") {
			return name, parseWeight(textproto.TrimString(value))
		}
	}
	return name, 1000
}

// parseWeight reads a qvalue: 0 to 1 with up to three decimals.
func parseWeight(s string) int {
	whole, decimals, _ := strings.Cut(s, ".")
	if whole != "0" && whole != "1" || len(decimals) > 3 {
		return 0
	}
	weight := int(whole[0]-'0') * 1000
	for i, place := 0, 100; i < len(decimals); i, place = i+1, place/10 {
		d := decimals[i]
		if d < '0' || d > '9' {
			return 0
		}
		weight += int(d-'0') * place
	}
	if weight > 1000 {
		return 0
	}
	return weight
}

// cutUnquoted is strings.Cut at the first sep outside a quoted string (RFC 9110
// section 5.6.4).
func cutUnquoted(s string, sep byte) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == sep && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}
