package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Options of a store. The zero value of each field has a default.
type Options struct {
	Now      func() time.Time // the clock of expiry and of ephemeral rows; time.Now
	Logger   *slog.Logger     // silent
	MaxConns int              // connections for queries; 8. Seven more write, listen, notify, follow the log and answer what is short.

	// Migrate brings the schema up to date before the store opens it, unless that
	// would stop replicas of an older version that run: then store.ErrSchema.
	Migrate bool

	// Patience is how long Open waits for a database that does not answer; not at all.
	Patience time.Duration

	// CommitTimeout is how long one commit is tried, through restarts of the database
	// and other replicas' locks; 10 s. When an answer is lost at its end, finding out
	// takes up to 10 s more.
	CommitTimeout time.Duration

	// Copying opens a database into which a copy has not ended, which is refused with
	// store.ErrCopying otherwise. Its sessions are not counted by Store.Others.
	Copying bool

	// SnapshotAge is how long an event that was removed stays readable by the snapshots
	// from before; 10 minutes. Then they fail.
	SnapshotAge time.Duration
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxConns <= 0 {
		o.MaxConns = 8
	}
	if o.CommitTimeout <= 0 {
		o.CommitTimeout = 10 * time.Second
	}
	if o.SnapshotAge <= 0 {
		o.SnapshotAge = 10 * time.Minute
	}
	return o
}

// shortConns is how many connections are kept for short statements.
const shortConns = 3

// forever is for how long the connection of Followed is kept: what is given back another
// one may take.
const forever = 100 * 365 * 24 * time.Hour

const (
	applicationName = "fencepost" // of the sessions of replicas

	lockTimeout    = 2 * time.Second     // also for TCP without an answer
	idleTimeout    = 3 * lockTimeout / 4 // of a transaction: a stopped holder is gone before those who wait give up
	connectTimeout = 5 * time.Second     // of one address
	hostTimeout    = 2 * time.Second     // the same where there are several hosts: one may be dead
)

// parseURL reads the URL. No connection is made to a standby: it may lag, and who has read
// its log to the end would take permissions for fresh that are gone (O18). Of several
// hosts in the URL the primary is found, behind those that say nothing too.
func parseURL(url string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("URL of the database: %w", err)
	}
	cfg.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	c := cfg.ConnConfig
	c.ConnectTimeout = connectTimeout
	for _, f := range c.Fallbacks { // also the same host without TLS
		if f.Host != c.Host || f.Port != c.Port {
			c.ConnectTimeout = hostTimeout
		}
	}
	for _, name := range []string{"statement_timeout", "lock_timeout", "idle_session_timeout"} {
		c.RuntimeParams[name] = "0" // whatever the role has: what takes long has limits of its own
	}
	lookup := c.LookupFunc
	c.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
		ctx, cancel := context.WithTimeout(ctx, connectTimeout)
		defer cancel()
		return lookup(ctx, host)
	}
	return cfg, nil
}

// parse reads the URL and adds what every connection has: time limits (O19), and a
// planner that walks indexes. Each statement of this package is written for one index,
// and the planner must not prefer a scan while a table is small or not analysed.
func parse(url string, o Options) (*pgxpool.Config, error) {
	cfg, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = int32(o.MaxConns)
	c := cfg.ConnConfig
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: connectTimeout, Control: userTimeout}
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, addr)
	}
	milliseconds := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	name := applicationName
	if o.Copying {
		name += " copy"
	}
	for name, value := range map[string]string{
		"application_name":                    name,
		"default_transaction_isolation":       "read committed",
		"idle_in_transaction_session_timeout": milliseconds(idleTimeout),
		"lock_timeout":                        milliseconds(lockTimeout),
		"tcp_user_timeout":                    milliseconds(lockTimeout),
		"enable_seqscan":                      "off",
		"enable_bitmapscan":                   "off",
		"enable_hashjoin":                     "off",
		"enable_mergejoin":                    "off",
		"enable_sort":                         "off",
		"enable_incremental_sort":             "off",
		"jit":                                 "off",
	} {
		c.RuntimeParams[name] = value
	}
	return cfg, nil
}

// connect makes a connection that is not pooled. Each address takes as long as cfg allows.
func connect(ctx context.Context, cfg *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, cfg.Copy())
	if err != nil {
		return nil, &unreachable{cfg, err}
	}
	return conn, nil
}
