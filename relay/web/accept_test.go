package web_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/web"
)

func TestAcceptDecidesBetweenDocumentAndPage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		accept   []string
		document bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"*/*"}, false},
		{[]string{"application/*"}, false},
		{[]string{"application/json"}, false},
		{[]string{"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"}, false},
		{[]string{"application/nostr+json"}, true},
		{[]string{"Application/NOSTR+JSON"}, true},
		{[]string{" application/nostr+json ; charset=utf-8 "}, true},
		{[]string{"application/nostr+json, application/json, text/plain, */*"}, true},
		{[]string{"application/json, application/nostr+json;q=0.5"}, true},
		{[]string{"application/nostr+json;q=0.5, */*"}, true}, // a wildcard does not outweigh it
		{[]string{"text/html", "application/nostr+json"}, true},
		{[]string{"application/nostr+json,text/html"}, true},
		{[]string{"text/html, application/nostr+json;q=0.9"}, false},
		{[]string{"text/html;q=0.8, application/nostr+json;q=0.9"}, true},
		{[]string{"text/*;q=0.9, application/nostr+json;q=0.8"}, false},
		{[]string{"text/*;q=0.9, text/html;q=0.1, application/nostr+json;q=0.8"}, true},
		{[]string{"application/nostr+json;q=0"}, false},
		{[]string{"application/nostr+json;q=0.000"}, false},
		{[]string{"application/nostr+json; Q=0"}, false},
		{[]string{"application/nostr+json;q=0.001"}, true},
		{[]string{"text/html;q=0, application/nostr+json;q=0.1"}, true},
		{[]string{"application/nostr+json;q=2"}, false},
		{[]string{"application/nostr+json;q=1.001"}, false},
		{[]string{"application/nostr+json;q=often"}, false},
		{[]string{"application/nostr+json;q"}, false},
		{[]string{`text/plain;note="a, application/nostr+json, b"`}, false},
		{[]string{`text/plain;note="\", application/nostr+json;q=1"`}, false},
		{[]string{`application/nostr+json;note="a;q=0"`}, true},
		{[]string{"application/nostr+jsonx"}, false},
		{[]string{"xapplication/nostr+json"}, false},
		{[]string{",,;,;q=1,application/nostr+json"}, true},
	} {
		require.Equal(t, row.document, web.WantsDocument(row.accept...), "%q", row.accept)
	}
}

// slowWantsDocument is the decision by splitting, for headers without quotes.
func slowWantsDocument(accept string) bool {
	best := map[string]float64{}
	for _, item := range strings.Split(accept, ",") {
		parts := strings.Split(item, ";")
		weight := 1.0
		for _, p := range parts[1:] {
			k, v, _ := strings.Cut(p, "=")
			if strings.ToLower(strings.Trim(k, " \t\r\n")) != "q" {
				continue
			}
			v = strings.Trim(v, " \t\r\n")
			f, err := strconv.ParseFloat(v, 64)
			if err != nil || f < 0 || f > 1 || len(v) > 5 || strings.Trim(v, "0123456789.") != "" ||
				v[0] == '.' || strings.HasPrefix(v, "00") || strings.HasPrefix(v, "01") {
				f = 0
			}
			weight = f
			break
		}
		name := strings.ToLower(strings.Trim(parts[0], " \t\r\n"))
		if old, ok := best[name]; !ok || weight > old {
			best[name] = weight
		}
	}
	html, ok := best["text/html"]
	if !ok {
		html = best["text/*"]
	}
	document := best["application/nostr+json"]
	return document > 0 && document >= html
}

func FuzzAccept(f *testing.F) {
	for _, s := range []string{
		"text/html, application/nostr+json;q=0.9", "application/nostr+json;q=1.000,*/*",
		`a/b;c="d\",e";q=0.1,application/nostr+json;q=0`, "text/*;q=0.2,text/html;q=0.123,,;",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		got := web.WantsDocument(accept)
		if !strings.Contains(accept, `"`) {
			require.Equal(t, slowWantsDocument(accept), got)
		}
		if isASCII(accept) {
			require.Equal(t, got, web.WantsDocument(strings.ToUpper(accept)))
		}
		if got {
			require.Contains(t, strings.ToLower(accept), "application/nostr+json")
		}
		require.False(t, web.WantsDocument(accept+" x") && !strings.Contains(accept, ",") && !strings.Contains(accept, ";"),
			"a name must match whole")
	})
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
