package config

import (
	"log/slog"
	"math"
	"net/netip"
	"time"
)

// Config is the whole configuration. The meaning and unit of each field stand in
// the table of keys.
type Config struct {
	Listen        string // host:port
	Data          string // folder
	Relay         Relay
	Log           Log
	Network       Network
	WebSocket     WebSocket
	Queue         Queue
	Subscriptions Subscriptions
	Events        Events
	Auth          Auth
	Membership    Membership
	Groups        Groups
	Negentropy    Negentropy
	Access        Access
	Retention     Retention
	Presence      Presence
	Publishers    Publishers
	Store         Store
	Mirrors       []Mirror // [[mirror]], not in the table of keys
}

// Relay is what the relay says about itself (NIP-11).
type Relay struct {
	Name           string
	Description    string
	PubKey         string // hex, or "": the operator
	Contact        string
	Icon           string // URL, or ""
	Banner         string // URL, or ""
	Software       string // URL, or ""
	PostingPolicy  string // URL, or ""
	TermsOfService string // URL, or ""
	URLs           []string
}

// Log says what is logged and how.
type Log struct {
	Level  slog.Level
	Format Format
}

// Network is the HTTP server and who may connect.
type Network struct {
	TrustedProxies           []netip.Prefix
	MaxConnections           int // 0 is off
	MaxConnectionsPerAddress int // 0 is off
	HandshakeTimeout         time.Duration
	ReadTimeout              time.Duration
	WriteTimeout             time.Duration
	IdleTimeout              time.Duration
	DrainTimeout             time.Duration
}

// WebSocket is the transport of one connection.
type WebSocket struct {
	MaxMessage   Size
	Compression  bool
	PingInterval time.Duration // 0 is off
	PongTimeout  time.Duration
	WriteTimeout time.Duration
	FlushTimeout time.Duration
}

// Queue is the outbound queue of one connection and the hold of one replay.
type Queue struct {
	MaxFrames   int
	MaxBytes    Size
	HoldFrames  int
	HoldBytes   Size
	RoomTimeout time.Duration
}

// Subscriptions bounds what a connection may ask for.
type Subscriptions struct {
	CloseAck        bool
	Max             int
	MaxFilters      int // 0 is off
	MaxFilterValues int // 0 is off
	MaxValues       int // 0 is off
	MaxWeight       int
	QueryTimeout    time.Duration // 0 is off
	MaxLimit        int           // 0 is off
	DefaultLimit    int           // 0 is off
	MaxTotal        int           // 0 is off
	MaxCount        int           // 0 is off
	Queries         int
}

// Events bounds what is accepted.
type Events struct {
	MaxTags         int // 0 is off
	MaxTagValue     int // characters; 0 is off
	MaxContent      int // characters; 0 is off
	MinPoW          int // leading zero bits; 0 is off
	CreatedAtPast   time.Duration
	CreatedAtFuture time.Duration
	Pending         int
	PendingBytes    Size
}

// Auth is NIP-42.
type Auth struct {
	Require Requirement
	Window  time.Duration
}

// Membership is NIP-43.
type Membership struct {
	Require Requirement
}

// Presence is what is told about who is connected.
type Presence struct {
	Node  string // the name of this process, "" is chosen
	Idle  time.Duration
	Stale time.Duration
}

// PresenceEvery is how often a process reports its sessions.
const PresenceEvery = 5 * time.Second

// Publishers is where the fences of publishers are kept: in the relay's own store, or
// beside it when a Dapr sidecar has a URL.
type Publishers struct {
	DaprURL   string // "" for the relay's own store
	DaprStore string // name of the state component
	DaprToken Secret // of the sidecar's API, or ""
}

// Groups is NIP-29.
type Groups struct {
	Create     Creation
	Max        int
	MaxPerKey  int // that one key has created
	MaxMembers int // of one group
	MaxPins    int // of one group
	MaxAge     time.Duration
}

// Negentropy is NIP-77.
type Negentropy struct {
	MaxRecords  int // 0 is off: nothing is reconciled
	MaxSessions int // of a connection
	MaxHeld     int // records of all negotiations
	MaxFrame    Size
	IdleTimeout time.Duration
}

// Access bounds how long permissions may be out of date.
type Access struct {
	MaxLag time.Duration
}

// Retention is how much of the log is kept.
type Retention struct {
	Age  time.Duration // 0 is off
	Rows int           // 0 is off
}

// Store is where events are kept: in the embedded store, or in PostgreSQL when that
// has a URL.
type Store struct {
	Cache    Size // of the embedded store; 0 is chosen by the machine, see CacheSize
	Search   bool // in the embedded store; that over PostgreSQL always searches
	Postgres Postgres
}

// Postgres is the database that replicas share.
type Postgres struct {
	URL      Secret // "" for the embedded store
	MaxConns int    // for queries, of one replica
}

// Bound returns n, or the largest int when n is 0, which means that the limit is
// off. It serves callers that compare with "more than".
func Bound(n int) int {
	if n == 0 {
		return math.MaxInt
	}
	return n
}
