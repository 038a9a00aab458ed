//go:build !nopause

package suites_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"pgregory.net/rapid"

	"fencepost/regress/harness"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// What is stored and what is live is decided by one predicate: G7.

// drawn are values of which few exist, so that filters hit.
var drawn = []string{"", "a", "b", "A", "ä"}

func drawEvent(t *rapid.T, n int) *wire.Event {
	d := storetest.Draft{
		Key:     rapid.IntRange(1, 3).Draw(t, "key"),
		At:      rapid.Int64Range(100, 104).Draw(t, "at"),
		Kind:    rapid.SampledFrom([]int{1, 2, 7}).Draw(t, "kind"),
		Content: fmt.Sprint(n), // every event is another
	}
	for range rapid.IntRange(0, 3).Draw(t, "tags") {
		tag := nostr.Tag{rapid.SampledFrom([]string{"t", "T", "r"}).Draw(t, "name")}
		for range rapid.IntRange(0, 2).Draw(t, "values") {
			tag = append(tag, rapid.SampledFrom(drawn).Draw(t, "value"))
		}
		d.Tags = append(d.Tags, tag)
	}
	return d.Event()
}

func drawFilter(t *rapid.T, events []*wire.Event) *wire.Filter {
	f := nostr.Filter{}
	maybe := func(what string) bool { return rapid.IntRange(0, 3).Draw(t, what) == 0 }
	if maybe("by id") {
		f.IDs = rapid.SliceOfN(rapid.Map(rapid.SampledFrom(events), func(e *wire.Event) string { return e.ID }), 0, 3).Draw(t, "ids")
	}
	if maybe("by author") {
		f.Authors = rapid.SliceOfN(rapid.Map(rapid.IntRange(1, 4), storetest.Key), 0, 3).Draw(t, "authors")
	}
	if maybe("by kind") {
		f.Kinds = rapid.SliceOfN(rapid.SampledFrom([]int{1, 2, 3, 7}), 0, 3).Draw(t, "kinds")
	}
	for _, name := range []string{"t", "T"} {
		if maybe("by " + name) {
			if f.Tags == nil {
				f.Tags = nostr.TagMap{}
			}
			f.Tags[name] = rapid.SliceOfN(rapid.SampledFrom(drawn), 0, 2).Draw(t, name)
		}
	}
	if maybe("since") {
		at := nostr.Timestamp(rapid.Int64Range(100, 104).Draw(t, "since at"))
		f.Since = &at
	}
	if maybe("until") {
		at := nostr.Timestamp(rapid.Int64Range(100, 104).Draw(t, "until at"))
		f.Until = &at
	}
	return wire.NewFilter(f)
}

// answers are the ids that three ways of asking select, sorted.
type answers struct {
	live, stored []string
	count        int
}

func ask(t *testing.T, events []*wire.Event, filters []*wire.Filter) (a answers) {
	inWorld(t, harness.Options{}, func(t *testing.T, w *world) {
		msg := string(wire.AppendReq(nil, "x", filters))
		w.open(msg)
		w.Commit(t, events...)
		w.Step(t)
		a.live = ids(w.client.Settle())
		a.stored = ids(w.open(msg))
		w.client.Send(string(wire.AppendCountReq(nil, "c", filters)))
		for _, f := range w.client.Settle() {
			if m, err := wire.DecodeRelay([]byte(f)); err == nil && m.Verb == "COUNT" {
				a.count = m.Count
			}
		}
		w.settled(1)
	})
	return a
}

func ids(frames []string) []string {
	out := []string{}
	for _, f := range frames {
		if m, err := wire.DecodeRelay([]byte(f)); err == nil && m.Verb == "EVENT" {
			out = append(out, m.Event.ID)
		}
	}
	slices.Sort(out)
	return out
}

// TestStoredAndLiveAnswersAreOneSet compares them, and COUNT, with a reading of
// NIP-01 that knows JSON and nothing of the relay.
func TestStoredAndLiveAnswersAreOneSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var events []*wire.Event
		for n := range rapid.IntRange(1, 8).Draw(r, "events") {
			events = append(events, drawEvent(r, n))
		}
		var filters []*wire.Filter
		for range rapid.IntRange(1, 3).Draw(r, "filters") {
			filters = append(filters, drawFilter(r, events))
		}
		want := []string{}
		for _, e := range events {
			if slices.ContainsFunc(filters, func(f *wire.Filter) bool { return obviously(f, e) }) {
				want = append(want, e.ID)
			}
		}
		slices.Sort(want)
		got := ask(t, events, filters)
		if !slices.Equal(got.live, want) || !slices.Equal(got.stored, want) || got.count != len(want) {
			r.Fatalf("%s\nwant %v\ngot  %+v", wire.AppendReq(nil, "x", filters), want, got)
		}
	})
}

// obviously reports whether the filter's JSON selects the event's JSON.
func obviously(f *wire.Filter, e *wire.Event) bool {
	var filter, event map[string]any
	if json.Unmarshal(wire.AppendFilter(nil, f), &filter) != nil || json.Unmarshal(e.Raw(), &event) != nil {
		return false
	}
	for field, want := range filter {
		var has bool
		switch field {
		case "since":
			has = event["created_at"].(float64) >= want.(float64)
		case "until":
			has = event["created_at"].(float64) <= want.(float64)
		case "ids", "authors", "kinds":
			of := map[string]string{"ids": "id", "authors": "pubkey", "kinds": "kind"}[field]
			has = slices.Contains(want.([]any), event[of])
		default:
			name := strings.TrimPrefix(field, "#")
			has = slices.ContainsFunc(event["tags"].([]any), func(tag any) bool {
				parts := tag.([]any)
				return len(parts) > 1 && parts[0] == name && slices.Contains(want.([]any), parts[1])
			})
		}
		if !has {
			return false
		}
	}
	return true
}
