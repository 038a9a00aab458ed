package main

import (
	"math/rand/v2"
	"strings"
)

var words = strings.Fields(`relay fence post signal light water stone river morning coffee bridge paper copper
	garden window letter market engine winter summer harbour island mountain signal carbon silver purple
	orange zap note key event thread reply quote follow mute list badge channel message photo music story`)

// pieces are strings that have broken parsers: escapes, controls, scripts in
// both directions, joined emoji, separators and noncharacters.
var pieces = []string{
	`"quoted"`, `back\slash`, `\u0041 is no escape`, "tab\there", "line\nbreak", "carriage\rreturn",
	"\b\f", "nul\x00inside", "bell\x07 escape\x1b[0m", "delete\x7f", "next\u0085line",
	"line\u2028separator", "paragraph\u2029separator", "zero\u200bwidth", "bom\ufeff", "\ufffd", "\U0010ffff",
	"日本語のテキスト", "Ελληνικά", "русский текст", "العربية من اليمين", "עברית", "हिन्दी", "한국어",
	"e\u0301 and é", "👩‍👩‍👧‍👦", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "👍🏽", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "<script>&amp;</script>", "/slash\\/", "{\"json\":[1,2]}",
	"nostr:npub1xyz", "https://example.com/?a=1&b=2#c", "#hashtag", "'; DROP TABLE events; --", "%s %d %n",
}

// sentence returns a few words, now and then with a piece between them.
func sentence(r *rand.Rand) string {
	var b strings.Builder
	for i := range 3 + r.IntN(20) {
		if i > 0 {
			b.WriteByte(' ')
		}
		if r.IntN(12) == 0 {
			b.WriteString(pieces[r.IntN(len(pieces))])
			continue
		}
		b.WriteString(words[r.IntN(len(words))])
	}
	return b.String()
}

// odd returns an unusual value of a d tag.
func odd(r *rand.Rand) string {
	values := []string{
		"", ":", "a:b:c", "30023:" + strings.Repeat("0", 64) + ":x", " ", "with space", "ünïcode", "日本",
		"\"", "\\", "\n", "\x00", "very-" + strings.Repeat("long-", 60), "UPPER", "upper", "0", "1e3", "null",
	}
	return values[r.IntN(len(values))]
}
