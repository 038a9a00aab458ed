package postgres_test

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	server "fencepost/regress/postgres"
	"fencepost/relay/store/postgres"
	"fencepost/relay/wire"
)

// fill writes n events by 1,000 authors, with 20 kinds and two tags each, in SQL: only
// the planner and Count look at them.
const fill = `
INSERT INTO events (position, id, pubkey, kind, newest, raw)
SELECT n, sha256(n::text::bytea), sha256(convert_to('author ' || n % 1000, 'UTF8')), n % 20, -1700000000 - n, '' FROM generate_series(1, $N) n;
INSERT INTO tags
SELECT ascii('t'), '\x01'::bytea || convert_to(chr(97 + n % 20), 'UTF8'), -1700000000 - n, sha256(n::text::bytea), n FROM generate_series(1, $N) n;
INSERT INTO tags
SELECT ascii('e'), '\x40'::bytea || convert_to(encode(sha256((n % 50000)::text::bytea), 'hex'), 'UTF8'), -1700000000 - n, sha256(n::text::bytea), n FROM generate_series(1, $N) n;
INSERT INTO log (position, type, detail, prefix)
SELECT n, 1, 0, substr(sha256(n::text::bytea), 1, 8) FROM generate_series(1, $N) n;
INSERT INTO search SELECT n, array_to_tsvector(ARRAY['frequent', 'rare' || n % 1000]) FROM generate_series(1, $N) n;
UPDATE log_head SET head = $N;
ANALYZE;`

func TestEveryFilterWalksAnIndex(t *testing.T) {
	t.Parallel()
	n := 5000
	if full {
		n = 200_000
	}
	url := server.Start(t).Database(t)
	s := reopen(t, url, postgres.Options{})
	run(t, url, strings.ReplaceAll(fill, "$N", strconv.Itoa(n)))
	author := func(i int) string { return hash("author " + strconv.Itoa(i)) }
	many := make([]string, 500)
	for i := range many {
		many[i] = author(i)
	}
	events := make([]string, 300)
	for i := range events {
		events[i] = hash(strconv.Itoa(i))
	}
	since := nostr.Timestamp(1_700_000_100)
	for index, f := range map[string]nostr.Filter{
		"events_id":             {IDs: events},
		"events_author_kind":    {Authors: []string{author(3), author(4)}, Kinds: []int{3, 4}},
		"events_author_kind on": {Authors: many, Kinds: []int{0, 1}},
		"events_author on":      {Authors: []string{author(3)}},
		"events_kind on":        {Kinds: []int{1, 7}},
		"events_time on":        {},
		"events_time on events": {Since: &since, Until: &since},
		"tags_pkey":             {Tags: nostr.TagMap{"t": {"a", "b"}}},
		"tags_pkey on":          {Tags: nostr.TagMap{"e": events}},
		"tags_pkey on tags":     {Tags: nostr.TagMap{"e": events}, Kinds: []int{1}, Since: &since},
		"search_words ":         {Search: "rare7"},
		"search_words":          {Search: "rare7 frequent", Kinds: []int{7}, Tags: nostr.TagMap{"t": {"a", "h"}}},
		"events_time on  ":      {Search: "frequent"},
		"events_author":         {Search: "frequent", Authors: []string{author(3)}},
	} {
		began := time.Now()
		plan, err := s.Explain(t.Context(), wire.NewFilter(f))
		require.NoError(t, err)
		t.Logf("%s: %s", index, time.Since(began).Round(100*time.Microsecond))
		require.Contains(t, plan, strings.TrimSpace(index))
		requireNoScan(t, plan)
		if f.Search == "" {
			require.NotContains(t, plan, "Sort", plan)
		}
	}
	others, err := s.ExplainOthers(t.Context())
	require.NoError(t, err)
	for _, plan := range others {
		requireNoScan(t, plan)
	}
}

var scanned = regexp.MustCompile(`Seq Scan on (events|tags|search|log|log_times|tombs|address_tombs|bans|epochs|erased_keys|erased_groups)\b`)

// requireNoScan also requires that no node threw away what it read.
func requireNoScan(t *testing.T, plan string) {
	t.Helper()
	require.NotRegexp(t, scanned, plan)
	require.NotRegexp(t, `Rows Removed by Filter: \d{3}`, plan)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
