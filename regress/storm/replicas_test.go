package storm_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/regress/postgres"
	"fencepost/relay/config"
)

// TestNobodyOfThreeReplicasIsSentWhatItMayNotSee is the storm of permissions over three
// replicas: who revokes, who publishes and who reads are spread over them (G4). In the
// second one the way to the database is longer for some, so that they lag behind.
func TestNobodyOfThreeReplicasIsSentWhatItMayNotSee(t *testing.T) {
	server := postgres.Start(t)
	for name, delays := range map[string][]time.Duration{
		"as it comes": {0, 0, 0},
		"some lag":    {0, 5 * time.Millisecond, 30 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); ; seed++ { // a starved machine does little
				require.LessOrEqual(t, seed, uint64(10))
				problems, tally := stormTown(t, startReplicas(t, server.Database(t), delays), large, duration(), seed)
				require.Empty(t, problems.counts, "%q", problems.examples)
				if min(tally.private, tally.ended, tally.judged) > 0 {
					break
				}
			}
		})
	}
}

// startReplicas runs relays over one database, each so far away from it.
func startReplicas(t *testing.T, database string, delays []time.Duration) *host {
	t.Helper()
	all := make([]*host, len(delays))
	for i, delay := range delays {
		url := database
		if delay > 0 {
			p := postgres.NewProxy(t, database)
			p.Delay(delay)
			url = p.URL()
		}
		c := townConfig(t)
		c.Store.Postgres = config.Postgres{URL: config.Secret(url), MaxConns: 8}
		all[i] = startHost(t, c)
	}
	of := *all[0]
	for _, h := range all[1:] {
		require.Equal(t, of.self, h.self, "one key for all")
		of.urls = append(of.urls, h.urls...)
	}
	of.stop = func() {
		for _, h := range all {
			h.stop()
		}
	}
	of.level = func(ctx context.Context) error {
		most := uint64(0)
		for _, h := range all {
			at, err := applied(ctx, h)
			if err != nil {
				return err
			}
			most = max(most, at)
		}
		for _, h := range all {
			for at := uint64(0); at < most; {
				var err error
				if at, err = applied(ctx, h); err != nil {
					return err
				}
				if err = pause(ctx, retry); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return &of
}

const retry = 10 * time.Millisecond // between two questions

// applied returns how far a relay has applied its log.
func applied(ctx context.Context, h *host) (position uint64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http"+h.url(0)[len("ws"):]+"/readyz", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	var ready struct{ Position uint64 }
	err = json.NewDecoder(resp.Body).Decode(&ready)
	return ready.Position, errors.Join(err, resp.Body.Close())
}
