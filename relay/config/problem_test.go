package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/config"
)

func TestAllProblemsAreReportedAtOnceWithTheirKeys(t *testing.T) {
	t.Parallel()
	_, err := config.Parse(`
listen = 7447
store = 1
surprise = 1
Data = "case matters"
"relay.name" = "quoted, so another key"
[relay]
pubkey = "npub1x"
urls = ["http://a.b"]
[queue]
max_byte = 1
room_timeout = 30
[subscriptions]
max = 0
[unheard]
of = 1
[log]
level = {a = 1}
[access.deep]
x = 1
["store.postgres"]
url = "quoted, so another key"
[[websocket]]
max_message = 1
`, "FENCEPOST_EVENTS_PENDING=many", "FENCEPOST_TYPO=1", "FENCEPOST_=1", "FENCEPOST_AUTH_REQUIRE=some")
	require.Error(t, err)
	require.ElementsMatch(t, []string{
		`Data: unknown key`,
		`access.deep: unknown key`,
		`"store.postgres": unknown key`,
		`listen: must be a string`,
		`log.level: must be a string`,
		`queue.max_byte: unknown key`,
		`queue.room_timeout: must be a string`,
		`"relay.name": unknown key`,
		`store: must be a table: [store]`,
		`surprise: unknown key`,
		`unheard: unknown key`,
		`websocket: must be a table: [websocket]`,
		`events.pending (FENCEPOST_EVENTS_PENDING): must be an integer`,
		`FENCEPOST_TYPO: unknown variable`,
		`FENCEPOST_: unknown variable`,
		`auth.require (FENCEPOST_AUTH_REQUIRE): must be one of "none", "write", "all"`,
		`relay.pubkey: must be 64 characters of lower-case hex (no npub)`,
		`relay.urls: "http://a.b" must be a ws or wss URL without user, query and fragment`,
		`subscriptions.max: must be at least 1: each one reserves room in the queue; it can be raised, not turned off`,
	}, strings.Split(err.Error(), "\n"))
	var p *config.Problem
	require.ErrorAs(t, err, &p)
}

func TestBrokenFileIsOneProblemBesideThoseOfTheEnvironment(t *testing.T) {
	t.Parallel()
	_, err := config.Parse("listen = \n[", "FENCEPOST_LISTEN=nowhere", "FENCEPOST_LOG_LEVEL=loud")
	require.ErrorContains(t, err, "test.toml: toml: line 1")
	require.ErrorContains(t, err, "log.level (FENCEPOST_LOG_LEVEL)")
	require.Len(t, strings.Split(err.Error(), "\n"), 2, "rules are not checked against half a configuration")
}

func TestValuesThatBreakARule(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, value, want string }{
		{"listen", "localhost", "with a port"},
		{"listen", ":65536", "with a port"},
		{"data", "", "path of a folder"},
		{"relay.pubkey", strings.Repeat("0A", 32), "lower-case hex"},
		{"relay.icon", "javascript:alert(1)", "http or https URL"},
		{"relay.name", "\xff", "valid UTF-8"},
		{"relay.urls", "wss://a.b/x,wss://c.d/y", "one path"},
		{"relay.urls", "wss://a.b/metrics", "serves itself"},
		{"relay.urls", "wss://a.b/api/x", "serves itself"},
		{"relay.urls", "wss://a.b?x", "without user"},
		{"network.trusted_proxies", "10.0.0.0/33", "a prefix such as"},
		{"network.trusted_proxies", "fe80::1%eth0", "a prefix such as"},
		{"network.max_connections", "-1", "or 0 to turn it off"},
		{"network.max_connections", "99999999999", "32 bits"},
		{"websocket.compression", "yes", "true or false"},
		{"websocket.max_message", "0", "at least 1KiB: it bounds the memory"},
		{"websocket.max_message", "99999999TiB", "must be a size"},
		{"websocket.max_message", "2GiB", "at most 1GiB"},
		{"websocket.max_message", "1.5MiB", "must be a size"},
		{"websocket.ping_interval", "1ms", "at least 1s, or 0"},
		{"websocket.pong_timeout", "-1s", "at least 1ms: without it"},
		{"queue.max_frames", "0", "cannot"},
		{"events.min_pow", "257", "at most 256"},
		{"auth.window", "0s", "used again"},
		{"membership.require", "read", `one of "none", "write", "all"`},
		{"membership.require", "write", "nobody else can admit members"},
		{"groups.create", "members", `one of "none", "operator", "anyone"`},
		{"groups.create", "operator", "unless relay.pubkey is set"},
		{"groups.max", "0", "kept in memory"},
		{"groups.max_per_key", "0", "kept in memory"},
		{"groups.max_members", "1000001", "at most 1000000"},
		{"groups.max_pins", "-1", "at least 1"},
		{"groups.max_age", "5ms", "at least 1s, or 0"},
		{"events.created_at_past", "2 weeks", "must be a duration"},
		{"access.max_lag", "1s", "at least 2s: the log is looked at once a second"},
		{"retention.age", "59m", "at least 1h, or 0"},
		{"retention.rows", "9999", "at least 10000, or 0"},
		{"presence.idle", "2m", "must be less than presence.stale"},
		{"presence.stale", "9s", "at least 10s: a process reports every 5 seconds"},
		{"presence.node", "a b", "without blanks"},
		{"negentropy.max_frame", "4095", "at least 4KiB: a message must leave room for progress"},
		{"store.postgres.url", "host=a dbname=b", "must be a URL such as postgres://"},
		{"store.postgres.url", "postgres://a:b c@d/e\x7f", "must be a URL such as postgres://"},
		{"store.postgres.max_conns", "0", "at least 1"},
	} {
		want := row.want
		if want == "cannot" {
			want = "not turned off"
		}
		_, err := config.Parse("", config.Env()[row.name]+"="+row.value)
		require.ErrorContains(t, err, row.name, row.value)
		require.ErrorContains(t, err, want)
	}
}

func TestLimitsThatDependOnEachOther(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		change func(*config.Config)
		want   string
	}{
		{func(c *config.Config) { c.Subscriptions.Max = 5000 }, "queue.max_bytes: must be at least 6925824"},
		{func(c *config.Config) { c.Subscriptions.Max = 8192; c.Queue.MaxBytes = config.GiB }, "queue.max_frames: must be at least 16386"},
		{func(c *config.Config) { c.WebSocket.MaxMessage = 4 * config.MiB }, "queue.max_bytes: must be at least"},
		{func(c *config.Config) { c.Queue.HoldBytes = 3 * config.MiB }, "queue.hold_bytes: must be at most 2MiB"},
		{func(c *config.Config) { c.Queue.HoldFrames = 8193 }, "queue.hold_frames: must be at most 8192"},
		{func(c *config.Config) { c.Events.PendingBytes = config.KiB }, "events.pending_bytes: must be at least 512KiB"},
		{func(c *config.Config) { c.Subscriptions.MaxLimit = 499 }, "subscriptions.default_limit: must be at most 499"},
	} {
		c := config.Default()
		row.change(&c)
		require.ErrorContains(t, c.Validate(), row.want)
	}

	c := config.Default()
	c.Subscriptions.MaxLimit, c.Subscriptions.DefaultLimit = 0, 1_000_000
	require.NoError(t, c.Validate(), "a limit that is off bounds nothing")
}

func TestAnUnreadableValueCausesNoProblemElsewhere(t *testing.T) {
	t.Parallel()
	_, err := config.Parse("[queue]\nmax_bytes = '64 megabytes'\n[subscriptions]\nmax = 6000")
	require.Len(t, strings.Split(err.Error(), "\n"), 1, err)
	require.ErrorContains(t, err, "queue.max_bytes: must be a size")
}

func TestSizesReadBackAsTheyAreShown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.Size{
		"0": 0, "1": 1, "1000B": 1000, "1KiB": 1024, "1 KiB": 1024, "1536": 1536, "4MiB": 4 * config.MiB, "3TiB": 3 * config.TiB,
	} {
		got, err := config.ParseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
		again, err := config.ParseSize(got.String())
		require.NoError(t, err)
		require.Equal(t, want, again)
	}
	for _, text := range []string{"", "KiB", "-1", "+1", "1e3", "1kb", "1K", "0x10", "9223372036854775808", "8388608TiB"} {
		_, err := config.ParseSize(text)
		require.Error(t, err, text)
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	s := config.Secret("hunter2")
	holder := struct{ S config.Secret }{s}
	asJSON, err := json.Marshal(holder)
	require.NoError(t, err)
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "secret", s, "holder", holder)
	for _, shown := range []string{
		fmt.Sprint(s), fmt.Sprintf("%q %#v %+v", s, s, holder), string(asJSON), logged.String(), config.Literal(&s),
	} {
		require.NotContains(t, shown, "hunter2")
		require.Contains(t, shown, "***")
	}
	require.Equal(t, "hunter2", s.Reveal())

	var back config.Secret
	require.ErrorContains(t, config.Set(&back, "***"), "must be the secret itself")
	require.NoError(t, config.Set(&back, "x"))
	require.Equal(t, "x", back.Reveal())
	require.Equal(t, `""`, config.Literal(new(config.Secret)))
}

// The password of the database is a part of the URL.
func TestProblemsDoNotTellTheURLOfTheDatabase(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"mysql://a:hunter2@b/c", "postgres://a:hunter2%@b/c", "hunter2"} {
		_, err := config.Parse("[store.postgres]\nurl = '" + url + "'")
		require.ErrorContains(t, err, "store.postgres.url: must be")
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestTheStoreHasASectionOfItsOwnForTheDatabase(t *testing.T) {
	t.Parallel()
	_, err := config.Parse("[store]\npostgres = 'postgres://a:hunter2@b/c'\ncache = '1MiB'")
	require.EqualError(t, err, "store.postgres: must be a table: [store.postgres]")
	_, err = config.Parse("[store.postgres]\nuri = 1\n[store.cache]\nx = 1")
	require.ElementsMatch(t, []string{"store.postgres.uri: unknown key", "store.cache: must be a size: bytes, or a number with B, KiB, MiB, GiB or TiB, such as \"512KiB\""},
		strings.Split(err.Error(), "\n"))
}

func TestBoundOfALimitThatIsOff(t *testing.T) {
	t.Parallel()
	require.Equal(t, 5, config.Bound(5))
	require.Equal(t, math.MaxInt, config.Bound(0))
}

func FuzzLoad(f *testing.F) {
	var printed strings.Builder
	require.NoError(f, config.Default().WriteTOML(&printed))
	f.Add(printed.String(), "")
	f.Add("[relay]\nurls = ['wss://a.b/c']\ndescription = '''\na\"\n'''", "FENCEPOST_NETWORK_TRUSTED_PROXIES=::/0,1.2.3.4")
	f.Add("[events]\ncreated_at_past = '87600h0m0.5s'\nmax_tags = 0x10", "FENCEPOST_STORE_CACHE=1GiB")
	f.Add("[[relay]]\n[log.level]\na.b = 1979-05-27", "FENCEPOST_LISTEN")
	f.Fuzz(func(t *testing.T, file, env string) {
		c, err := config.Parse(file, strings.Split(env, "\n")...)
		if err != nil {
			var p *config.Problem
			require.True(t, errors.As(err, &p))
			require.Zero(t, c)
			return
		}
		require.NoError(t, c.Validate())
		requirePrintsBack(t, c)
	})
}

func TestVariablesOfKubernetesAreNotOurs(t *testing.T) {
	t.Parallel()
	_, err := config.Load("", []string{
		"FENCEPOST_SERVICE_HOST=10.0.0.1", "FENCEPOST_SERVICE_PORT_WS=7447", "FENCEPOST_PORT=tcp://10.0.0.1:7447", "FENCEPOST_PORT_7447_TCP=x",
	})
	require.NoError(t, err)
	_, err = config.Load("", []string{"FENCEPOST_PORTS=1"})
	require.ErrorContains(t, err, "FENCEPOST_PORTS: unknown variable")
}
