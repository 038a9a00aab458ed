package main

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// deletion asks for the author's own events, and at times in vain: for those of
// others, for another deletion, for what does not exist.
func (g *generator) deletion(by author) nostr.Event {
	own := g.random.IntN(5) > 0
	e := nostr.Event{Kind: 5, Content: sentence(g.random)}
	for range 1 + g.random.IntN(3) {
		target := g.earlier(func(e *wire.Event) bool { return (e.PubKey == by.pubkey) == own })
		switch {
		case target == nil:
			e.Tags = append(e.Tags, nostr.Tag{"e", strings.Repeat("ab", 32)})
		case target.Address() != "" && g.random.IntN(2) == 0:
			e.Tags = append(e.Tags, nostr.Tag{"a", target.Address()}, nostr.Tag{"k", strconv.Itoa(target.Kind)})
		default:
			e.Tags = append(e.Tags, nostr.Tag{"e", target.ID}, nostr.Tag{"k", strconv.Itoa(target.Kind)})
		}
	}
	return e
}

// secret returns what looks like an encrypted payload.
func (g *generator) secret(size int) string {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(g.random.UintN(256))
	}
	return base64.StdEncoding.EncodeToString(b)
}

func (g *generator) message(author) nostr.Event {
	return nostr.Event{Kind: 4, Content: g.secret(48) + "?iv=" + g.secret(16), Tags: nostr.Tags{{"p", g.anybody()}}}
}

func (g *generator) wrap(author) nostr.Event {
	return nostr.Event{Kind: 1059, Content: g.secret(200 + g.random.IntN(200)), Tags: nostr.Tags{{"p", g.anybody()}}}
}

func (g *generator) report(author) nostr.Event {
	return nostr.Event{Kind: 1984, Content: sentence(g.random), Tags: nostr.Tags{{"p", g.anybody(), "spam"}, {"L", "report"}, {"l", "NS-spm", "report"}}}
}

func (g *generator) zap(by author) nostr.Event {
	to := g.earlier(func(e *wire.Event) bool { return e.Kind == 1 })
	if to == nil {
		return g.note(by)
	}
	return nostr.Event{Kind: 9735, Tags: nostr.Tags{
		{"p", to.PubKey},
		{"P", by.pubkey},
		{"e", to.ID},
		{"bolt11", "lnbc" + g.secret(60)},
		{"description", `{"kind":9734,"content":"` + words[g.random.IntN(len(words))] + `"}`},
		{"preimage", g.secret(24)},
	}}
}

// expiring events are over since 2025 or last until 2100 and longer.
func (g *generator) expiring(author) nostr.Event {
	at := []string{
		"0", "1", strconv.FormatInt(int64(g.now)+3600, 10),
		strconv.Itoa(future), strconv.Itoa(future * 1000), "9223372036854775807", "99999999999999999999",
	}
	return nostr.Event{Kind: 1, Content: sentence(g.random), Tags: nostr.Tags{{"expiration", at[g.random.IntN(len(at))]}, {"t", "expiring"}}}
}

func (g *generator) ephemeral(author) nostr.Event {
	return nostr.Event{Kind: 20001, Content: sentence(g.random), Tags: nostr.Tags{{"p", g.anybody()}}}
}

// heavy events have much content or many tags.
func (g *generator) heavy(author) nostr.Event {
	switch g.random.IntN(3) {
	case 0:
		return nostr.Event{Kind: 30023, Content: strings.Repeat(sentence(g.random)+" ", 100), Tags: nostr.Tags{{"d", "heavy"}, {"title", strings.Repeat("t", 4000)}}}
	case 1:
		e := nostr.Event{Kind: 30000, Tags: nostr.Tags{{"d", "heavy:" + strconv.Itoa(g.random.IntN(3))}}}
		for range 300 {
			e.Tags = append(e.Tags, nostr.Tag{"p", g.secretKey()})
		}
		return e
	default:
		e := nostr.Event{Kind: 1, Content: strings.Join(pieces, " ")}
		for _, p := range pieces {
			e.Tags = append(e.Tags, nostr.Tag{"t", p}, nostr.Tag{p}, nostr.Tag{p, p, ""})
		}
		return e
	}
}

// secretKey returns 64 hex digits that nobody has the key of.
func (g *generator) secretKey() string {
	var b strings.Builder
	for range 64 {
		b.WriteByte("0123456789abcdef"[g.random.IntN(16)])
	}
	return b.String()
}

// other kinds, the ends of the ranges among them.
func (g *generator) other(author) nostr.Event {
	kinds := []int{2, 16, 40, 42, 1063, 1111, 1311, 1621, 7000, 8, 9802, 9999, 40000, 65535}
	return nostr.Event{Kind: kinds[g.random.IntN(len(kinds))], Content: sentence(g.random), Tags: nostr.Tags{{"h", "group"}, {"-"}}[:g.random.IntN(3)]}
}
