package config_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/config"
)

// other holds for every key a valid value that is not the default, as the
// environment and as a file write it.
var other = map[string][2]string{
	"listen":                              {"127.0.0.1:1", `"127.0.0.1:1"`},
	"data":                                {"/x y", `"/x y"`},
	"relay.name":                          {`a "b" \`, `'a "b" \'`},
	"relay.description":                   {"a\n\nb\x01ü\x7f", `"a\n\nb\u0001ü\u007F"`},
	"relay.pubkey":                        {strings.Repeat("0a", 32), `"` + strings.Repeat("0a", 32) + `"`},
	"relay.contact":                       {"mailto:a@b.c", `"mailto:a@b.c"`},
	"relay.icon":                          {"https://a.b/c.png", `"https://a.b/c.png"`},
	"relay.banner":                        {"http://a.b/d.png", `"http://a.b/d.png"`},
	"relay.software":                      {"https://a.b", `"https://a.b"`},
	"relay.posting_policy":                {"https://a.b/p", `"https://a.b/p"`},
	"relay.terms_of_service":              {"https://a.b/t", `"https://a.b/t"`},
	"relay.urls":                          {"wss://a.b/r, ws://[::1]:7447/r/", `["wss://a.b/r", "ws://[::1]:7447/r/"]`},
	"log.level":                           {"debug", `"debug"`},
	"log.format":                          {"json", `"json"`},
	"network.trusted_proxies":             {"10.1.2.3/8,::1,::ffff:1.2.3.4", `["10.0.0.0/8", "::1/128", "1.2.3.4"]`},
	"network.max_connections":             {"0", "0"},
	"network.max_connections_per_address": {"7", "7"},
	"network.handshake_timeout":           {"3s", `"3s"`},
	"network.read_timeout":                {"1m", `"60s"`},
	"network.write_timeout":               {"50s", `"50s"`},
	"network.idle_timeout":                {"2h", `"120m"`},
	"network.drain_timeout":               {"1500ms", `"1.5s"`},
	"websocket.max_message":               {"1MiB", "1048576"},
	"websocket.compression":               {"true", "true"},
	"websocket.ping_interval":             {"0", `"0s"`},
	"websocket.pong_timeout":              {"9s", `"9s"`},
	"websocket.write_timeout":             {"8s", `"8s"`},
	"websocket.flush_timeout":             {"7s", `"7s"`},
	"queue.max_frames":                    {"20000", "20_000"},
	"queue.max_bytes":                     {"8388608", `"8MiB"`},
	"queue.hold_frames":                   {"100", "100"},
	"queue.hold_bytes":                    {"1000B", "1000"},
	"queue.room_timeout":                  {"6s", `"6s"`},
	"subscriptions.close_ack":             {"true", "true"},
	"subscriptions.max":                   {"20", "20"},
	"subscriptions.max_filters":           {"0", "0"},
	"subscriptions.max_filter_values":     {"0", "0"},
	"subscriptions.max_values":            {"0", "0"},
	"subscriptions.max_weight":            {"1", "1"},
	"subscriptions.query_timeout":         {"0", `"0s"`},
	"subscriptions.max_limit":             {"0", "0"},
	"subscriptions.default_limit":         {"0", "0"},
	"subscriptions.max_total":             {"0", "0"},
	"subscriptions.max_count":             {"0", "0"},
	"subscriptions.queries":               {"1", "1"},
	"events.max_tags":                     {"0", "0"},
	"events.max_tag_value":                {"0", "0"},
	"events.max_content":                  {"0", "0"},
	"events.min_pow":                      {"20", "20"},
	"events.created_at_past":              {"8760h", `"8760h0m0s"`},
	"events.created_at_future":            {"0s", `"0s"`},
	"events.pending":                      {"1", "1"},
	"events.pending_bytes":                {"1MiB", `"1 MiB"`},
	"auth.require":                        {"write", `"write"`},
	"auth.window":                         {"5m", `"5m"`},
	"membership.require":                  {"all", `"all"`},
	"groups.create":                       {"operator", `"operator"`},
	"groups.max":                          {"10", "10"},
	"groups.max_per_key":                  {"3", "3"},
	"groups.max_members":                  {"200000", "200_000"},
	"groups.max_pins":                     {"7", "7"},
	"groups.max_age":                      {"0s", `"0s"`},
	"negentropy.max_records":              {"0", "0"},
	"negentropy.max_sessions":             {"9", "9"},
	"negentropy.max_held":                 {"99", "99"},
	"negentropy.max_frame":                {"8KiB", `"8KiB"`},
	"negentropy.idle_timeout":             {"9s", `"9s"`},
	"access.max_lag":                      {"9s", `"9s"`},
	"retention.age":                       {"0s", `"0s"`},
	"retention.rows":                      {"10000", "10_000"},
	"presence.node":                       {"eu-1", `"eu-1"`},
	"presence.idle":                       {"30s", `"30s"`},
	"presence.stale":                      {"3m", `"3m"`},
	"publishers.dapr_url":                 {"http://127.0.0.1:3500", `"http://127.0.0.1:3500"`},
	"publishers.dapr_store":               {"fences", `"fences"`},
	"publishers.dapr_token":               {"hunter2", `"hunter2"`},
	"store.cache":                         {"1GiB", `"1GiB"`},
	"store.search":                        {"true", "true"},
	"store.postgres.url":                  {"postgres://a:hunter2@b/c", `"postgres://a:hunter2@b/c"`},
	"store.postgres.max_conns":            {"3", "3"},
}

func TestEveryFieldHasAKey(t *testing.T) {
	t.Parallel()
	var count func(reflect.Type) int
	count = func(s reflect.Type) (n int) {
		for i := range s.NumField() {
			if f := s.Field(i); f.Type == reflect.TypeFor[[]config.Mirror]() {
				continue // [[mirror]] is no key
			} else if f := f.Type; f.Kind() == reflect.Struct && f.PkgPath() == s.PkgPath() {
				n += count(f)
				continue
			}
			n++
		}
		return n
	}
	require.Len(t, config.Env(), count(reflect.TypeFor[config.Config]()))
	require.ElementsMatch(t, slices.Collect(maps.Keys(config.Env())), slices.Collect(maps.Keys(other)),
		"the table of this test has every key")
}

func TestDefaultIsValidAndNeedsNoFile(t *testing.T) {
	t.Parallel()
	c, err := config.Load("", []string{"HOME=/root", "FENCEPOST_CONFIG=x", "FENCEPOST_TEST_POSTGRES=y"})
	require.NoError(t, err)
	require.Equal(t, config.Default(), c)
	require.NoError(t, c.Validate())
}

func TestEveryKeyCanBeSetByFileAndByEnvironment(t *testing.T) {
	t.Parallel()
	sections := map[string][]string{}
	var env []string
	for name, v := range other {
		dot := strings.LastIndexByte(name, '.')
		section := name[:max(dot, 0)]
		sections[section] = append(sections[section], name[dot+1:]+" = "+v[1])
		env = append(env, config.Env()[name]+"="+v[0])
	}
	file := strings.Join(sections[""], "\n") + "\n"
	delete(sections, "")
	for section, lines := range sections {
		file += "[" + section + "]\n" + strings.Join(lines, "\n") + "\n"
	}

	fromFile, err := config.Parse(file)
	require.NoError(t, err)
	fromEnv, err := config.Parse("", env...)
	require.NoError(t, err)
	require.Equal(t, fromFile, fromEnv)

	changed, restart := config.Reloadable(config.Default(), fromFile)
	require.ElementsMatch(t, slices.Collect(maps.Keys(other)), append(changed, restart...))
	requirePrintsBack(t, fromFile)
}

func requirePrintsBack(t *testing.T, c config.Config) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, c.WriteTOML(&out))
	text := out.String()
	if url := c.Store.Postgres.URL.Reveal(); url != "" {
		require.NotContains(t, text, url)
		text = strings.Replace(text, `url = "***"`, "url = "+config.Literal(&url), 1)
	}
	if token := c.Publishers.DaprToken.Reveal(); token != "" {
		text = strings.Replace(text, `dapr_token = "***"`, "dapr_token = "+config.Literal(&token), 1)
	}
	again, err := config.Parse(text)
	require.NoError(t, err, text)
	require.Equal(t, c, again)
}

func TestPrintedDefaultsLoadAgainAndNameEveryKey(t *testing.T) {
	t.Parallel()
	requirePrintsBack(t, config.Default())
	var out bytes.Buffer
	require.NoError(t, config.Default().WriteTOML(&out))
	for name := range config.Env() {
		leaf := name[strings.LastIndexByte(name, '.')+1:]
		require.Regexp(t, `(?m)^# .+\n`+leaf+` = `, out.String())
	}
	require.Contains(t, out.String(), "created_at_future = \"15m\"\n")
	require.Contains(t, out.String(), "max_message = \"512KiB\"\n")
}

func TestEnvironmentWinsOverFileAndOverridesWinOverBoth(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fencepost.toml")
	require.NoError(t, os.WriteFile(path, []byte("listen = ':1'\ndata = '/file'\n[relay]\nname = 'file'"), 0o600))
	c, err := config.Load(path, []string{"FENCEPOST_LISTEN=:2", "FENCEPOST_DATA=/env"},
		func(c *config.Config) { c.Listen = ":3" })
	require.NoError(t, err)
	require.Equal(t, []string{":3", "/env", "file"}, []string{c.Listen, c.Data, c.Relay.Name})

	_, err = config.Load("", nil, func(c *config.Config) { c.Listen = "nowhere"; c.Log.Level = 1 })
	require.ErrorContains(t, err, "listen: must be")
	require.ErrorContains(t, err, "log.level: must be")

	_, err = config.Load(path+".none", nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestReloadNamesWhatNeedsARestart(t *testing.T) {
	t.Parallel()
	old := config.Default()
	next := old
	next.Data, next.Relay.Name, next.Queue.MaxFrames, next.Store.Cache = "x", "x", 9000, config.MiB
	changed, restart := config.Reloadable(old, next)
	require.Equal(t, []string{"relay.name", "queue.max_frames"}, changed)
	require.Equal(t, []string{"data", "store.cache"}, restart)

	changed, restart = config.Reloadable(old, old)
	require.Empty(t, changed)
	require.Empty(t, restart)
}

func TestSocketPathFollowsThePublicURLs(t *testing.T) {
	t.Parallel()
	for url, path := range map[string]string{
		"wss://a.b": "/", "wss://a.b/": "/", "ws://a.b:1/r/s/": "/r/s", "ws://a.b/%C3%BC": "/ü",
	} {
		require.Equal(t, path, config.Relay{URLs: []string{url}}.Path(), url)
	}
	require.Equal(t, "/", config.Relay{}.Path())
}
