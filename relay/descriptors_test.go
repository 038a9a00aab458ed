package relay_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay"
)

func TestTheStoreKeepsItsFileDescriptors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		descriptors, connections int
		want                     int
		warning                  string
	}{
		"not known":           {0, 10_000, 0, ""},
		"enough":              {10_896, 10_000, 10_256, ""},
		"one too few":         {10_895, 10_000, 10_255, "limit=10895 needed=10896 sockets=10255"},
		"few":                 {1024, 10_000, 384, "limit=1024 needed=10896 sockets=384"},
		"fewer than it keeps": {256, 100, 16, "limit=256 needed=996 sockets=16"},
		"no cap configured":   {1024, 0, 384, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			got := relay.Sockets(slog.New(slog.NewTextHandler(&log, nil)), tt.descriptors, tt.connections)
			require.Equal(t, tt.want, got)
			if tt.warning == "" {
				require.Empty(t, log.String())
				return
			}
			require.Contains(t, log.String(), "level=WARN")
			require.Contains(t, log.String(), "RLIMIT_NOFILE")
			require.Contains(t, log.String(), tt.warning)
		})
	}
}
