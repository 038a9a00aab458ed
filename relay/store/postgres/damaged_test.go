package postgres_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

// damage makes the wire form of the events at some positions unreadable.
func damage(t *testing.T, url string, events map[store.Position]*wire.Event) {
	t.Helper()
	var positions []string
	for position := range events {
		positions = append(positions, strconv.FormatUint(uint64(position), 10))
	}
	run(t, url, `UPDATE events SET raw = '{' WHERE position IN (`+strings.Join(positions, ", ")+`)`)
}

func TestDamagedEventsKeepTheContract(t *testing.T) {
	t.Parallel()
	from := server.Start(t)
	storetest.RunDamaged(t, func(t *testing.T, now func() time.Time) (store.Store, storetest.Damage) {
		url := from.Database(t)
		s := reopen(t, url, at(now))
		return s, func(events map[store.Position]*wire.Event) store.Store {
			damage(t, url, events)
			return s
		}
	})
}

// The columns beside the wire form tell what there is to remove.
func TestOfADamagedEventThatExpiredNothingStays(t *testing.T) {
	t.Parallel()
	url := server.Start(t).Database(t)
	now := time.Unix(1_700_000_000, 0)
	s := reopen(t, url, postgres.Options{Now: func() time.Time { return now }, SnapshotAge: time.Microsecond})
	damaged := storetest.Draft{Key: 1, Kind: 1, At: 1_700_000_000, Content: "word", Tags: nostr.Tags{{"expiration", "1700000010"}, {"h", "x"}}}.Event()
	for _, e := range []*wire.Event{damaged, note(1, "stays")} {
		require.NoError(t, write(t, s, store.Write{Event: e}).Err)
	}
	damage(t, url, map[store.Position]*wire.Event{1: damaged})
	now = now.Add(time.Minute)
	for range 2 { // the second one removes what a snapshot might have seen
		_, err := s.Sweep(t.Context(), now)
		require.NoError(t, err)
	}
	rows, err := s.ReadLog(t.Context(), 0, 1)
	require.NoError(t, err)
	require.Equal(t, store.PrefixOf(damaged), rows[0].Prefix, "a token for its position still holds")
	require.Equal(t, []int{1, 1, 0}, []int{count(t, url, "events"), count(t, url, "search"), count(t, url, "tags")})
}
