package manage

import (
	"context"
	"errors"
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

const (
	kindReport = 1984 // NIP-56
	// maxReports is how many reports are read, newest first, and maxReported how
	// many events they may name.
	maxReports  = 5_000
	maxReported = 1_000
	// maxQuote is how much of a report's content becomes its reason, in characters.
	maxQuote = 200
)

// moderation lists the events that reports name and that are still here, the one
// with the newest report first. Its reason is what that report says.
func (a *API) moderation(ctx context.Context) (list []Event, err error) {
	snapshot, err := a.o.Store.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a snapshot: %w", err)
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	named, err := reported(ctx, snapshot)
	if err != nil || len(named) == 0 {
		return []Event{}, err
	}
	ids := make([]string, len(named))
	for i, e := range named {
		ids[i] = e.ID
	}
	here := make(map[string]bool, len(ids))
	err = each(ctx, snapshot, nostr.Filter{IDs: ids}, len(ids), func(ev *wire.Event) error {
		here[ev.ID] = true
		return nil
	})
	list = make([]Event, 0, len(here))
	for _, e := range named {
		if here[e.ID] {
			list = append(list, e)
		}
	}
	return list, err
}

// reported returns what the e tags of reports name, each event once.
func reported(ctx context.Context, snapshot store.Snapshot) (named []Event, err error) {
	seen := make(map[string]bool)
	err = each(ctx, snapshot, nostr.Filter{Kinds: []int{kindReport}}, maxReports, func(ev *wire.Event) error {
		for _, t := range ev.Tags {
			if len(t) < 2 || t[0] != "e" || !nostr.IsValid32ByteHex(t[1]) || seen[t[1]] {
				continue
			}
			if len(named) >= maxReported {
				return errEnough
			}
			seen[t[1]] = true
			named = append(named, Event{ID: t[1], Reason: saying(t, ev.Content)})
		}
		return nil
	})
	return named, err
}

// saying returns the type of a report and the beginning of its content.
func saying(tag nostr.Tag, content string) string {
	reason := ""
	if len(tag) > 2 {
		reason = tag[2]
	}
	if content != "" && reason != "" {
		reason += ": "
	}
	reason += content
	n := 0
	for i := range reason {
		if n++; n > maxQuote {
			return reason[:i] + "…"
		}
	}
	return reason
}

// errEnough ends a reading that has found enough.
var errEnough = errors.New("enough")

// each calls do with up to most stored events, newest first, as long as it returns nil.
func each(ctx context.Context, snapshot store.Snapshot, filter nostr.Filter, most int, do func(*wire.Event) error) error {
	err := store.Each(ctx, snapshot, []*wire.Filter{wire.NewFilter(filter)}, store.QueryOptions{MaxLimit: most}, do)
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("query: %w", err)
	}
	return nil
}
