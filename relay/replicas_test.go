package relay_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/regress/postgres"
	"fencepost/relay"
	"fencepost/relay/client"
	"fencepost/relay/config"
	"fencepost/relay/store"
	"fencepost/relay/web"
	"fencepost/relay/web/nip98"
	"fencepost/relay/wire"
)

const (
	bobKey   = "0000000000000000000000000000000000000000000000000000000000000004"
	carolKey = "0000000000000000000000000000000000000000000000000000000000000005"
)

// soon is longer than anything takes that is expected.
const soon = time.Minute

func public(t *testing.T, secret string) string {
	t.Helper()
	key, err := nostr.GetPublicKey(secret)
	require.NoError(t, err)
	return key
}

// over makes a relay a replica over a database.
func over(database string) func(*config.Config) {
	return func(c *config.Config) {
		c.Data, c.Store.Postgres = "/no/folder", config.Postgres{URL: config.Secret(database), MaxConns: 4}
	}
}

// replicas starts some over one empty database, all at once.
func replicas(t *testing.T, database string, n int, change ...func(*config.Config)) []*running {
	t.Helper()
	var g errgroup.Group
	made := make([]*relay.Relay, n)
	for i := range made {
		o := options(t.TempDir())
		for _, f := range append(change, over(database)) {
			f(&o.Config)
		}
		require.NoError(t, o.Config.Validate())
		g.Go(func() (err error) {
			made[i], err = relay.New(t.Context(), o)
			return err
		})
	}
	require.NoError(t, g.Wait())
	out := make([]*running, n)
	for i, r := range made {
		out[i] = run(t, r)
	}
	return out
}

// open subscribes, and returns once the stored events are told.
func open(t *testing.T, c *client.Client, filter string) {
	t.Helper()
	send(t, c, `["REQ","live",`+filter+`]`)
	require.Equal(t, "EOSE", next(t, c).Verb)
}

// operated makes the holder of operatorKey the operator.
func operated(t *testing.T) func(*config.Config) {
	return func(c *config.Config) { c.Relay.PubKey = public(t, operatorKey) }
}

// call calls a method of the management API (NIP-86).
func (r *running) call(t *testing.T, method string, params ...any) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"method": method, "params": params})
	require.NoError(t, err)
	address := "http://" + r.url
	token, err := nip98.Header(operatorKey, http.MethodPost, address, body, time.Now().Add(time.Second))
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(string(body)))
	require.NoError(t, err)
	req.Header.Set("Authorization", token)
	req.Header.Set("Content-Type", "application/nostr+json+rpc")
	status, answer := do(t, req)
	require.Equal(t, http.StatusOK, status, answer)
	require.NotContains(t, answer, "error")
}

func do(t *testing.T, req *http.Request) (status int, body string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, string(data)
}

// get reads one page as JSON.
func (r *running) get(t *testing.T, path, accept string, into any) (status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.url+path, nil)
	require.NoError(t, err)
	req.Header.Set("Accept", accept)
	status, body := do(t, req)
	require.NoError(t, json.Unmarshal([]byte(body), into), body)
	return status
}

func (r *running) ready(t *testing.T) (status int, body web.Readiness) {
	t.Helper()
	status = r.get(t, "/readyz", "application/json", &body)
	return status, body
}

// follow returns once r has applied what other has.
func (r *running) follow(t *testing.T, other *running) {
	t.Helper()
	_, there := other.ready(t)
	until(t, func() bool { _, here := r.ready(t); return here.Position >= there.Position })
}

// rows returns one number that the database says.
func rows(t *testing.T, database, sql string, args ...any) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	require.NoError(t, conn.QueryRow(t.Context(), sql, args...).Scan(&n))
	return n
}

func change(t *testing.T, database, sql string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // it is called by cleanups too
	conn, err := pgx.Connect(ctx, database)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, sql)
	require.NoError(t, err)
	require.NoError(t, conn.Close(ctx))
}

func TestReplicas(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	for name, test := range map[string]func(t *testing.T, database string){
		"an event reaches the subscribers of all":        testEventReachesAll,
		"they are one relay with one key":                testOneKey,
		"a ban on one cuts on the other":                 testBanCuts,
		"a group's members are so on both":               testGroupOnBoth,
		"who was let in on one reads on the other":       testAdmittedElsewhere,
		"what is private is so on both":                  testPrivateOnBoth,
		"lists of members are written once":              testListsAreWrittenOnce,
		"what vanished or expired is removed once":       testRemovedOnce,
		"a listener that is away degrades":               testListenerAway,
		"a permission taken meanwhile refuses the write": testMoved,
		"a change from a newer version stops readiness":  testNewerRow,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, server.Database(t))
		})
	}
}

func testEventReachesAll(t *testing.T, database string) {
	all := replicas(t, database, 3)
	var readers []*client.Client
	for _, r := range all {
		c := r.dial(t)
		open(t, c, `{"kinds":[1,20001]}`)
		readers = append(readers, c)
	}
	var ids []string
	for i := range 30 {
		ev := nostr.Event{Kind: []int{1, 20001}[i%2], CreatedAt: nostr.Now(), Content: "n"}
		require.NoError(t, ev.Sign(nostr.GeneratePrivateKey()))
		require.NoError(t, all[i%3].dial(t).Publish(t.Context(), wire.NewEvent(ev)))
		ids = append(ids, ev.ID)
	}
	for _, c := range readers {
		for _, id := range ids {
			require.Equal(t, id, next(t, c).Event.ID, "each once, in the order of commits")
		}
	}
	late := all[0].dial(t)
	send(t, late, `["REQ","x",{"kinds":[1,20001]}]`)
	for range 15 {
		require.Equal(t, 1, next(t, late).Event.Kind)
	}
	require.Equal(t, "EOSE", next(t, late).Verb, "ephemeral events are not stored")
}

func testOneKey(t *testing.T, database string) {
	names := map[string]bool{}
	for _, r := range replicas(t, database, 3) {
		var document struct{ Self string }
		r.get(t, "/", "application/nostr+json", &document)
		names[document.Self] = true
		require.NoError(t, r.stop())
	}
	var document struct{ Self string }
	replicas(t, database, 1)[0].get(t, "/", "application/nostr+json", &document)
	require.Equal(t, map[string]bool{document.Self: true}, names)
	require.Len(t, document.Self, 64)
}

func testBanCuts(t *testing.T, database string) {
	all := replicas(t, database, 2, operated(t))
	bob := all[1].login(t, bobKey)
	open(t, bob.Client, `{"kinds":[1]}`)
	all[0].call(t, "banpubkey", public(t, bobKey), "spam")
	for {
		m, err := bob.Next(t.Context())
		if err != nil {
			break // it is cut
		}
		require.Contains(t, m.Text, "blocked: ")
	}
	require.ErrorContains(t, all[1].dial(t).Publish(t.Context(), noteOf(t, bobKey, "x")), "blocked")

	all[1].call(t, "unbanpubkey", public(t, bobKey))
	require.True(t, all[1].login(t, bobKey).say(1, "back").OK)
}

func testGroupOnBoth(t *testing.T, database string) {
	all, pizza := replicas(t, database, 2), nostr.Tag{"h", "pizza"}
	alice, stranger := all[0].login(t, aliceKey), all[1].login(t, carolKey)
	for _, m := range []wire.RelayMessage{
		alice.say(9007, "", pizza),
		alice.say(9002, "", pizza, nostr.Tag{"name", "Pizza"}, nostr.Tag{"private"}, nostr.Tag{"closed"}),
		alice.say(9000, "", pizza, nostr.Tag{"p", public(t, bobKey)}),
		alice.say(9, "one", pizza),
	} {
		require.True(t, m.OK, m.Text)
	}
	bob := all[1].login(t, bobKey)
	all[1].follow(t, all[0])
	got, refused := bob.stored(inPizza)
	require.Equal(t, []string{"one"}, got, refused)
	_, refused = stranger.stored(inPizza)
	require.Contains(t, refused, "restricted: ")
	open(t, stranger.Client, `{"kinds":[9],"limit":0}`)

	send(t, bob.Client, `["REQ","live",{"#h":["pizza"],"kinds":[9],"limit":0}]`)
	require.Equal(t, "EOSE", next(t, bob.Client).Verb)
	require.True(t, alice.say(9, "two", pizza).OK)
	require.Equal(t, "two", next(t, bob.Client).Event.Content)
	require.True(t, alice.say(9001, "", pizza, nostr.Tag{"p", public(t, bobKey)}).OK)
	require.True(t, alice.say(9, "three", pizza).OK)
	require.True(t, alice.say(9, "in no group").OK)
	m := next(t, bob.Client)
	require.Equal(t, "CLOSED", m.Verb)
	require.Contains(t, m.Text, "restricted: ")
	require.Equal(t, "in no group", next(t, stranger.Client).Event.Content)
	require.False(t, bob.say(9021, "", pizza).OK)
}

// Nobody waits in between, so that the other replica is often behind.
func testAdmittedElsewhere(t *testing.T, database string) {
	all, pizza := replicas(t, database, 2), nostr.Tag{"h", "pizza"}
	alice := all[0].login(t, aliceKey)
	require.True(t, alice.say(9007, "", pizza).OK)
	require.True(t, alice.say(9002, "", pizza, nostr.Tag{"name", "Pizza"}, nostr.Tag{"private"}).OK)
	require.True(t, alice.say(9, "one", pizza).OK)
	head := rows(t, database, "SELECT head FROM log_head") // without it there is no group that lets anybody in
	until(t, func() bool { return all[1].metric(t, "fencepost_follower_applied_position") >= head })
	for i := range 40 {
		key := nostr.GeneratePrivateKey()
		reader := all[1].login(t, key)
		require.True(t, alice.say(9000, "", pizza, nostr.Tag{"p", public(t, key)}).OK)
		ask := []string{`["REQ","x",{"#h":["pizza"],"kinds":[9]}]`, `["COUNT","x",{"#h":["pizza"],"kinds":[9]}]`}[i%2]
		send(t, reader.Client, ask)
		m := next(t, reader.Client)
		require.Equal(t, []string{"EVENT", "COUNT"}[i%2], m.Verb, m.Text)
		require.NoError(t, reader.Close())
	}
}

func testPrivateOnBoth(t *testing.T, database string) {
	all, to := replicas(t, database, 2), nostr.Tag{"p", public(t, bobKey)}
	alice, bob, carol := all[0].login(t, aliceKey), all[1].login(t, bobKey), all[1].login(t, carolKey)
	open(t, bob.Client, `{"kinds":[4],"#p":["`+to[1]+`"]}`)
	open(t, carol.Client, `{"limit":0}`)
	require.True(t, alice.say(4, "secret", to).OK)
	require.True(t, alice.say(1, "not secret").OK)
	require.Equal(t, "secret", next(t, bob.Client).Event.Content)
	require.Equal(t, "not secret", next(t, carol.Client).Event.Content)
	got, _ := carol.stored(`{"kinds":[1,4]}`)
	require.Equal(t, []string{"not secret"}, got)
}

func testListsAreWrittenOnce(t *testing.T, database string) {
	all := replicas(t, database, 3, operated(t), func(c *config.Config) { c.Membership.Require = config.RequireWrite })
	operator := all[2].login(t, operatorKey)
	require.True(t, operator.say(9007, "", nostr.Tag{"h", "pizza"}).OK)
	for i, key := range []string{aliceKey, bobKey, carolKey} {
		all[i].call(t, "allowpubkey", public(t, key))
		require.True(t, operator.say(9000, "", nostr.Tag{"h", "pizza"}, nostr.Tag{"p", public(t, key)}).OK)
	}
	for _, r := range all {
		reader := r.login(t, aliceKey)
		for filter, members := range map[string]int{`{"kinds":[13534]}`: 3, `{"kinds":[39002],"#d":["pizza"]}`: 4} {
			send(t, reader.Client, `["REQ","lists",`+filter+`]`)
			for {
				m := next(t, reader.Client)
				if m.Verb == "EVENT" && len(m.Event.Tags) == 1+members {
					break
				}
			}
			send(t, reader.Client, `["CLOSE","lists"]`)
		}
	}
	before := rows(t, database, "SELECT head FROM log_head")
	require.Less(t, before, 60, "each change is told of a few times at most")
	<-time.After(3 * time.Second)
	require.Equal(t, before, rows(t, database, "SELECT head FROM log_head"), "nobody takes back what another wrote")
	for kind, tags := range map[int]int{13534: 4, 39002: 5} {
		require.Equal(t, 1, rows(t, database, "SELECT count(*) FROM events WHERE kind = $1 AND gone IS NULL", kind))
		require.Equal(t, tags, rows(t, database,
			"SELECT jsonb_array_length(convert_from(raw, 'UTF8')::jsonb -> 'tags') FROM events WHERE kind = $1 AND gone IS NULL", kind))
	}
}

func testRemovedOnce(t *testing.T, database string) {
	all := replicas(t, database, 3)
	alice := all[0].login(t, aliceKey)
	for i := range 5 {
		require.True(t, alice.say(1, strconv.Itoa(i)).OK)
	}
	require.True(t, alice.say(62, "", nostr.Tag{"relay", "ALL_RELAYS"}).OK)
	bob := all[0].dial(t)
	for i := range 5 {
		until(t, func() bool { // what has expired on its way is refused
			end := strconv.FormatInt(time.Now().Unix()+1, 10)
			return bob.Publish(t.Context(), noteOf(t, bobKey, strconv.Itoa(i), nostr.Tag{"expiration", end})) == nil
		})
	}
	until(t, func() bool {
		return rows(t, database, "SELECT count(*) FROM events WHERE gone IS NULL AND kind = 1") == 0
	})
	for _, r := range all {
		got, _ := r.login(t, bobKey).stored(`{"kinds":[1]}`)
		require.Empty(t, got)
	}
	require.Equal(t, 10, rows(t, database, "SELECT count(*) FROM log WHERE type = 3"), "one row for each removed event")
}

// The role of the replicas gets no new connection, so that the listener cannot come back.
func testListenerAway(t *testing.T, database string) {
	u, err := url.Parse(database)
	require.NoError(t, err)
	role := "of_" + strings.TrimPrefix(u.Path, "/")
	change(t, database, "CREATE ROLE "+role+" LOGIN PASSWORD 'x' CONNECTION LIMIT 20")
	change(t, database, "GRANT ALL ON SCHEMA public TO "+role)
	t.Cleanup(func() { change(t, database, "DROP OWNED BY "+role); change(t, database, "DROP ROLE "+role) })
	u.User = url.UserPassword(role, "x")
	all := replicas(t, u.String(), 2)
	degraded := func() bool {
		status, body := all[1].ready(t)
		require.Equal(t, http.StatusOK, status, body.Reasons)
		return slices.Equal(body.Degraded, []string{"listener"})
	}
	require.False(t, degraded())
	reader := all[1].dial(t)
	open(t, reader, `{"kinds":[1]}`)
	change(t, database, "ALTER ROLE "+role+" CONNECTION LIMIT 1") // what there is stays
	change(t, database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN fencepost'")
	until(t, degraded)
	require.Zero(t, all[1].metric(t, "fencepost_listener_connected"))
	ev := note(t, "by the poll")
	require.NoError(t, all[0].dial(t).Publish(t.Context(), ev))
	require.Equal(t, ev.ID, next(t, reader).Event.ID)

	change(t, database, "ALTER ROLE "+role+" CONNECTION LIMIT 20")
	until(t, func() bool { return !degraded() })
	require.Equal(t, 1, all[1].metric(t, "fencepost_listener_connected"))
}

// The replica may not have heard of the ban, but the commit has.
func testMoved(t *testing.T, database string) {
	all := replicas(t, database, 2, operated(t))
	for i := range 10 {
		text := strconv.Itoa(i)
		until(t, func() bool { return all[1].dial(t).Publish(t.Context(), noteOf(t, bobKey, "before "+text)) == nil })
		all[0].call(t, "banpubkey", public(t, bobKey), text)
		require.ErrorContains(t, all[1].dial(t).Publish(t.Context(), noteOf(t, bobKey, "after "+text)), "blocked")
		all[0].call(t, "unbanpubkey", public(t, bobKey))
	}
}

// Nobody can tell what it takes away, so private subscriptions end.
func testNewerRow(t *testing.T, database string) {
	r := replicas(t, database, 1)[0]
	bob := r.login(t, bobKey)
	open(t, bob.Client, `{"kinds":[4],"#p":["`+public(t, bobKey)+`"]}`)
	c := options(t.TempDir()).Config
	over(database)(&c)
	s, err := relay.OpenStore(t.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	row := store.Control{Scopes: []string{"relay"}, Data: []byte(`{"type":"of.tomorrow"}`)}
	require.NoError(t, s.Append(t.Context(), []store.Write{{Controls: []store.Control{row}}})[0].Err)
	require.NoError(t, s.Close())
	until(t, func() bool {
		status, body := r.ready(t)
		return status == http.StatusServiceUnavailable && strings.Contains(body.Reasons[0], "cannot apply")
	})
	m := next(t, bob.Client)
	require.Equal(t, "CLOSED", m.Verb)
	require.Contains(t, m.Text, "error: ")
	o := options(t.TempDir())
	over(database)(&o.Config)
	_, err = relay.New(t.Context(), o)
	require.ErrorContains(t, err, "read permissions")
}

func noteOf(t *testing.T, key, content string, tags ...nostr.Tag) *wire.Event {
	t.Helper()
	ev := nostr.Event{Kind: 1, CreatedAt: nostr.Now(), Content: content, Tags: tags}
	require.NoError(t, ev.Sign(key))
	return wire.NewEvent(ev)
}

// until asks again and again, in the goroutine of the test.
func until(t *testing.T, is func() bool) {
	t.Helper()
	deadline, tick := time.After(soon), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			require.Fail(t, "it did not come")
		}
	}
}
