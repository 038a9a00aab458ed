package storm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay"
	"fencepost/relay/config"
	"fencepost/relay/store"
	"fencepost/relay/web/nip98"
)

// TestNobodyIsSentWhatItMayNotSee storms the whole relay with revocations, and then
// asks its log who was allowed what (G4).
func TestNobodyIsSentWhatItMayNotSee(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*config.Config)
	}{
		{name: "as it comes"},
		{name: "a hold of one frame", change: func(c *config.Config) { c.Queue.HoldFrames = 1 }},
		{name: "members of the relay only", change: func(c *config.Config) { c.Membership.Require = config.RequireAll }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for seed := uint64(1); ; seed++ { // a starved machine does little
				require.LessOrEqual(t, seed, uint64(10))
				c := townConfig(t)
				if tc.change != nil {
					tc.change(&c)
				}
				problems, tally := stormTown(t, startHost(t, c), large, duration(), seed)
				require.Empty(t, problems.counts, "%q", problems.examples)
				if min(tally.private, tally.ended, tally.judged) > 0 {
					break
				}
			}
		})
	}
}

func townConfig(t testing.TB) config.Config {
	c := config.Default()
	c.Listen, c.Data = "127.0.0.1:0", filepath.Join(t.TempDir(), "data")
	c.Network.MaxConnectionsPerAddress = 0
	c.Relay.PubKey = public(operator)
	return c
}

// operator is the secret key of whoever bans.
const operator = "0000000000000000000000000000000000000000000000000000000000000007"

// stormTown is one storm of permissions with its judgement. It stops the host.
func stormTown(t *testing.T, h *host, of size, length time.Duration, seed uint64) (problems, tally) {
	w := newTown(h, of, seed)
	w.storm(t, length)
	h.stop()
	past, err := newHistory(h, readLog(t, h.config), w.ledger)
	require.NoError(t, err)
	j := judge{history: past, ledger: w.ledger}
	for _, r := range w.residents {
		j.problems.join(&r.problems)
		for _, rec := range r.records {
			j.record(rec, true)
		}
	}
	for _, r := range w.moving {
		j.problems.join(&r.problems)
		for _, rec := range r.records {
			j.record(rec, false)
		}
	}
	j.written()
	leaks := j.problems.counts["leak"]
	t.Logf("%d leaks / %d other faults in %d frames, %d of them not for everybody, %d live",
		leaks, total(j.problems.counts)-leaks, j.tally.frames, j.tally.private, j.tally.live)
	t.Logf("%d changes of permissions in %d rows, %d subscriptions and %d connections cut, %d barriers, %d COUNTs, %d events looked for",
		len(past.states)-1, len(past.positions)+len(past.states)-1, j.tally.ended, j.tally.cut, j.tally.barriers, j.tally.counts, j.tally.judged)
	if len(w.ledger.refused) > 0 {
		t.Logf("publishers were refused: %v", w.ledger.refused)
	}
	return j.problems, j.tally
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// readLog returns everything that is in the store of a relay that has ended.
func readLog(t *testing.T, c config.Config) []store.Entry {
	s, err := relay.OpenStore(t.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	entries, err := s.ReadLog(t.Context(), 0, math.MaxInt)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return entries
}

// startHost runs the whole relay.
func startHost(t *testing.T, c config.Config) *host {
	t.Helper()
	r, err := relay.New(t.Context(), relay.Options{Config: c, Logger: slog.New(slog.DiscardHandler), Version: "test"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(t, <-ended)
		}
	}
	t.Cleanup(stop)
	page := "http://" + r.Addr().String()
	return &host{
		urls: []string{"ws://" + r.Addr().String()}, self: self(t, page), config: c,
		walled: c.Membership.Require == config.RequireAll, grace: patience,
		manage: func(ctx context.Context, method string, of any) error { return call(ctx, page, method, of) },
		stop:   stop,
	}
}

// self asks a relay for its own key (NIP-11).
func self(t *testing.T, page string) string {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page, nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "application/nostr+json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	var document struct{ Self string }
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&document))
	require.NoError(t, resp.Body.Close())
	require.True(t, nostr.IsValid32ByteHex(document.Self))
	return document.Self
}

// call carries out one method of NIP-86.
func call(ctx context.Context, page, method string, of any) error {
	body, err := json.Marshal(map[string]any{"method": method, "params": []any{of}})
	if err != nil {
		return err
	}
	soon := time.Now().Add(time.Second) // a relay takes no token of the second in which it started
	header, err := nip98.Header(operator, http.MethodPost, page, body, soon)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, page, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", header)
	req.Header.Set("Content-Type", "application/nostr+json+rpc")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	if closing := resp.Body.Close(); err == nil {
		err = closing
	}
	if err == nil && (resp.StatusCode != http.StatusOK || bytes.Contains(answer, []byte(`"error"`))) {
		err = fmt.Errorf("%s: %s: %s", method, resp.Status, answer)
	}
	return err
}
