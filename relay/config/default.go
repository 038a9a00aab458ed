package config

import (
	"log/slog"
	"time"
)

// Default returns the configuration of a relay that was given none. It is valid. It
// is long because it is the list of all defaults.
func Default() Config {
	return Config{
		Listen: "0.0.0.0:7447",
		Data:   "./data",
		Relay: Relay{
			Name:        "Fencepost",
			Description: "A Nostr relay",
		},
		Log: Log{Level: slog.LevelInfo, Format: FormatText},
		Network: Network{
			MaxConnections:           10_000,
			MaxConnectionsPerAddress: 100,
			HandshakeTimeout:         10 * time.Second,
			ReadTimeout:              30 * time.Second,
			WriteTimeout:             30 * time.Second,
			IdleTimeout:              time.Minute,
			DrainTimeout:             15 * time.Second,
		},
		WebSocket: WebSocket{
			MaxMessage:   512 * KiB,
			PingInterval: 30 * time.Second,
			PongTimeout:  30 * time.Second,
			WriteTimeout: 10 * time.Second,
			FlushTimeout: 5 * time.Second,
		},
		Queue: Queue{
			MaxFrames:   16_384,
			MaxBytes:    4 * MiB,
			HoldFrames:  512,
			HoldBytes:   512 * KiB,
			RoomTimeout: 30 * time.Second,
		},
		Subscriptions: Subscriptions{
			Max:             300,
			MaxFilters:      32,
			MaxFilterValues: 2_000,
			MaxValues:       5_000,
			MaxWeight:       20_000,
			QueryTimeout:    30 * time.Second,
			MaxLimit:        5_000,
			DefaultLimit:    500,
			MaxTotal:        10_000,
			MaxCount:        1_000_000,
			Queries:         4,
		},
		Events: Events{
			MaxTags:         4_000,
			MaxTagValue:     65_536,
			MaxContent:      262_144,
			CreatedAtFuture: 15 * time.Minute,
			Pending:         256,
			PendingBytes:    4 * MiB,
		},
		Auth:       Auth{Require: RequireNone, Window: 10 * time.Minute},
		Membership: Membership{Require: RequireNone},
		Groups: Groups{
			Create:     CreateAnyone,
			Max:        10_000,
			MaxPerKey:  100,
			MaxMembers: 100_000,
			MaxPins:    100,
			MaxAge:     time.Hour,
		},
		Negentropy: Negentropy{
			MaxRecords:  200_000,
			MaxSessions: 4,
			MaxHeld:     1_000_000,
			MaxFrame:    64 * KiB,
			IdleTimeout: time.Minute,
		},
		Access:     Access{MaxLag: 5 * time.Second},
		Retention:  Retention{Age: 30 * 24 * time.Hour, Rows: 10_000_000},
		Presence:   Presence{Idle: time.Minute, Stale: 2 * time.Minute},
		Publishers: Publishers{DaprStore: "statestore"},
		Store:      Store{Cache: 0, Postgres: Postgres{MaxConns: 16}}, // the cache is chosen by the machine
	}
}
