package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// draft returns an unsigned event. The table says how often each sort comes.
func (g *generator) draft(by author) nostr.Event {
	sorts := []struct {
		weight int
		make   func(author) nostr.Event
	}{
		{300, g.note},
		{130, g.reply},
		{100, g.reaction},
		{60, g.repost},
		{70, g.profile},
		{40, g.contacts},
		{50, g.relayList},
		{70, g.article},
		{60, g.appData},
		{50, g.deletion},
		{40, g.message},
		{40, g.wrap},
		{20, g.report},
		{40, g.zap},
		{30, g.expiring},
		{8, g.ephemeral},
		{12, g.heavy},
		{30, g.other},
	}
	sum := 0
	for _, s := range sorts {
		sum += s.weight
	}
	n := g.random.IntN(sum)
	for _, s := range sorts {
		if n -= s.weight; n < 0 {
			return s.make(by)
		}
	}
	panic("unreachable: the weights add up")
}

func (g *generator) note(author) nostr.Event {
	e := nostr.Event{Kind: 1, Content: sentence(g.random)}
	for range g.random.IntN(4) {
		e.Tags = append(e.Tags, nostr.Tag{"t", words[g.random.IntN(len(words))]})
	}
	if g.random.IntN(10) == 0 {
		e.Tags = append(e.Tags, nostr.Tag{"subject", pieces[g.random.IntN(len(pieces))]}, nostr.Tag{"T", "Upper"}, nostr.Tag{"t", ""})
	}
	return e
}

func (g *generator) reply(by author) nostr.Event {
	to := g.earlier(func(e *wire.Event) bool { return e.Kind == 1 })
	if to == nil {
		return g.note(by)
	}
	return nostr.Event{Kind: 1, Content: sentence(g.random), Tags: nostr.Tags{
		{"e", to.ID, "wss://relay.example", "reply", to.PubKey}, {"p", to.PubKey}, {"p", g.anybody(), "", "friend"},
	}}
}

func (g *generator) reaction(by author) nostr.Event {
	to := g.earlier(func(e *wire.Event) bool { return e.Kind == 1 || e.Kind == 30023 })
	if to == nil {
		return g.note(by)
	}
	return nostr.Event{
		Kind: 7, Content: []string{"+", "-", "🤙", ":soapbox:", ""}[g.random.IntN(5)],
		Tags: nostr.Tags{{"e", to.ID}, {"p", to.PubKey}, {"k", strconv.Itoa(to.Kind)}},
	}
}

func (g *generator) repost(by author) nostr.Event {
	to := g.earlier(func(e *wire.Event) bool { return e.Kind == 1 && len(e.Content) < 500 })
	if to == nil {
		return g.note(by)
	}
	return nostr.Event{Kind: 6, Content: string(to.Raw()), Tags: nostr.Tags{{"e", to.ID, "wss://relay.example"}, {"p", to.PubKey}}}
}

func (g *generator) profile(by author) nostr.Event {
	about, _ := json.Marshal(map[string]string{"name": "user " + by.pubkey[:6], "about": sentence(g.random)}) // strings always marshal
	e := nostr.Event{Kind: 0, Content: string(about)}
	if g.random.IntN(3) == 0 {
		e.CreatedAt = g.tied(by, 0, "")
	}
	return e
}

// tied returns the created_at of the last version of an address, so that a new
// one ties with it, 0 when there is none.
func (g *generator) tied(by author, kind int, d string) nostr.Timestamp {
	last := g.earlier(func(e *wire.Event) bool { return e.PubKey == by.pubkey && e.Kind == kind && e.D() == d })
	if last == nil {
		return 0
	}
	return last.CreatedAt
}

func (g *generator) contacts(author) nostr.Event {
	e := nostr.Event{Kind: 3}
	for range g.random.IntN(15) {
		e.Tags = append(e.Tags, nostr.Tag{"p", g.anybody(), "", "pet " + words[g.random.IntN(len(words))]})
	}
	return e
}

func (g *generator) relayList(author) nostr.Event {
	kinds := []int{10000, 10001, 10002, 10003, 10050, 19999}
	return nostr.Event{Kind: kinds[g.skewed(len(kinds))], Tags: nostr.Tags{
		{"r", fmt.Sprintf("wss://relay%d.example/", g.random.IntN(20)), "read"}, {"r", "wss://relay.example"}, {"-x"},
	}}
}

func (g *generator) article(by author) nostr.Event {
	slug := "article-" + strconv.Itoa(g.random.IntN(6))
	e := nostr.Event{
		Kind: 30023, Content: strings.Repeat(sentence(g.random)+"\n\n", 1+g.random.IntN(6)),
		Tags: nostr.Tags{{"d", slug}, {"title", sentence(g.random)}, {"t", words[g.random.IntN(len(words))]}, {"published_at", "1735689600"}},
	}
	if g.random.IntN(4) == 0 {
		e.CreatedAt = g.tied(by, 30023, slug)
	}
	return e
}

// appData has the d tags that are easily got wrong: none, without value, empty,
// several, with colons.
func (g *generator) appData(author) nostr.Event {
	kinds := []int{30078, 30000, 30003, 31923, 39999}
	e := nostr.Event{Kind: kinds[g.skewed(len(kinds))], Content: sentence(g.random)}
	switch g.random.IntN(6) {
	case 0:
	case 1:
		e.Tags = nostr.Tags{{"d"}}
	case 2:
		e.Tags = nostr.Tags{{"d", odd(g.random), "second value"}, {"d", "second tag"}}
	default:
		e.Tags = nostr.Tags{{"x", "before"}, {"d", odd(g.random)}}
	}
	return e
}
