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
// replicas: who revokes, who publishes and who reads are spread over them (G4).
func TestNobodyOfThreeReplicasIsSentWhatItMayNotSee(t *testing.T) {
	server := postgres.Start(t)
	for seed := uint64(1); ; seed++ { // a starved machine does little
		require.LessOrEqual(t, seed, uint64(10))
		c := townConfig(t)
		c.Store.Postgres = config.Postgres{URL: config.Secret(server.Database(t)), MaxConns: 8}
		problems, tally := stormTown(t, startReplicas(t, c, 3), large, duration(), seed)
		require.Empty(t, problems.counts, "%q", problems.examples)
		if min(tally.private, tally.ended, tally.judged) > 0 {
			break
		}
	}
}

// startReplicas runs some relays over one database.
func startReplicas(t *testing.T, c config.Config, n int) *host {
	t.Helper()
	all := make([]*host, n)
	for i := range all {
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
