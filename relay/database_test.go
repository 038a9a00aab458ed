package relay_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/regress/postgres"
	"fencepost/relay"
	"fencepost/relay/throttle"
	"fencepost/relay/wire"
)

// Nothing is acknowledged, readers stay connected, readiness says so, and what is
// published afterwards reaches them.
func TestADatabaseThatGoesAwayWhileRelaysRun(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	if !server.Own() {
		t.Skip("the database is not this test's to kill")
	}
	all := replicas(t, server.Database(t), 2)
	reader, writer := all[1].dial(t), all[0].dial(t)
	open(t, reader, `{"kinds":[1]}`)
	first := note(t, "before")
	require.NoError(t, writer.Publish(t.Context(), first))
	require.Equal(t, first.ID, next(t, reader).Event.ID)

	server.Kill()
	lost := note(t, "while it is away")
	send(t, writer, string(wire.AppendEventMessage(nil, lost)))
	m := next(t, writer)
	require.Equal(t, []any{lost.ID, false, "error: could not save the event"}, []any{m.ID, m.OK, m.Text})
	until(t, func() bool {
		status, body := all[1].ready(t)
		return status == http.StatusServiceUnavailable && len(body.Reasons) == 1 && slices.Contains(body.Degraded, "listener")
	})
	require.Equal(t, http.StatusOK, all[1].status(t, "/healthz"))
	_, body := all[0].ready(t)
	require.Contains(t, body.Degraded, "writes")
	require.EqualValues(t, 1, all[0].metric(t, "fencepost_writes_refused"))
	send(t, reader, `["REQ","again",{"kinds":[1]}]`)
	m = next(t, reader)
	require.Equal(t, []string{"CLOSED", "again"}, []string{m.Verb, m.Sub})
	require.Regexp(t, "^error: ", m.Text)

	server.Restart(t)
	until(t, func() bool { status, _ := all[1].ready(t); return status == http.StatusOK })
	until(t, func() bool { return writer.Publish(t.Context(), note(t, "after")) == nil })
	require.Equal(t, "after", next(t, reader).Event.Content, "on the subscription from before")
	_, body = all[0].ready(t)
	require.NotContains(t, body.Degraded, "writes")
	require.Zero(t, all[0].metric(t, "fencepost_writes_refused"))
	require.Zero(t, all[1].metric(t, "fencepost_panics_total"))
}

// Whoever asks for more than a damaged event gets the rest.
func TestADamagedEventFailsNoREQ(t *testing.T) {
	t.Parallel()
	database := postgres.Start(t).Database(t)
	r := replicas(t, database, 1)[0]
	c := r.dial(t)
	for _, text := range []string{"damaged", "whole"} {
		require.NoError(t, c.Publish(t.Context(), note(t, text)))
	}
	db, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	tag, err := db.Exec(t.Context(), `UPDATE events SET raw = '{' WHERE position = (SELECT min(position) FROM events)`)
	require.NoError(t, err)
	require.EqualValues(t, 1, tag.RowsAffected())
	require.NoError(t, db.Close(t.Context()))
	send(t, c, `["REQ","all",{"kinds":[1]}]`)
	require.Equal(t, "whole", next(t, c).Event.Content)
	require.Equal(t, "EOSE", next(t, c).Verb)
	require.NotZero(t, r.metric(t, "fencepost_damaged_events_total"))
}

// A stranger who asks while it is away cannot fill the operator's disk with log lines.
func TestRequestsThatFailAreNotLoggedOneByOne(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	if !server.Own() {
		t.Skip("the database is not this test's to kill")
	}
	var logged logs
	o := options(t.TempDir())
	o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	over(server.Database(t))(&o.Config)
	made, err := relay.New(t.Context(), o)
	require.NoError(t, err)
	c := run(t, made).dial(t)
	server.Kill()
	begun := time.Now()
	for i := range 300 {
		for _, verb := range []string{"REQ", "COUNT"} {
			send(t, c, fmt.Sprintf(`["%s","%d",{"kinds":[1]}]`, verb, i))
			m := next(t, c)
			require.Equal(t, "CLOSED", m.Verb)
			require.Regexp(t, "^error: ", m.Text)
		}
	}
	most := 2 + int(time.Since(begun)/throttle.Every)
	for _, kind := range []string{"query failed", "count failed"} {
		require.LessOrEqual(t, strings.Count(logged.text(), kind), most, kind)
	}
	require.Contains(t, logged.text(), "query failed", "the first one is logged")
}

// logs is a buffer for several goroutines.
type logs struct {
	mu sync.Mutex // guards the field below; nothing else happens under it
	// +checklocks:mu
	b bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestADrainDoesNotWaitForADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	if !server.Own() {
		t.Skip("the database is not this test's to kill")
	}
	r := replicas(t, server.Database(t), 1)[0]
	c := r.dial(t)
	open(t, c, `{"kinds":[1]}`)
	require.NoError(t, r.dial(t).Publish(t.Context(), note(t, "x")))
	require.Equal(t, "x", next(t, c).Event.Content)
	server.Kill()
	began := time.Now()
	require.NoError(t, r.stop())
	require.Less(t, time.Since(began), 10*time.Second)
	require.Equal(t, "error: the relay is shutting down", next(t, c).Text)
}

func (r *running) status(t *testing.T, path string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.url+path, nil)
	require.NoError(t, err)
	status, _ := do(t, req)
	return status
}

// A supervisor starts the relay and the database at once.
func TestAStartWaitsForItsDatabase(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	if !server.Own() {
		t.Skip("the database is not this test's to kill")
	}
	database := server.Database(t)
	server.Kill()
	o := options(t.TempDir())
	over(database)(&o.Config)
	var g errgroup.Group
	var r *relay.Relay
	g.Go(func() (err error) {
		r, err = relay.New(t.Context(), o)
		return err
	})
	server.Restart(t)
	require.NoError(t, g.Wait())
	require.NoError(t, run(t, r).stop())
}

// What does not pass by itself is told at once, without the password.
func TestAStartThatCannotSucceedSaysWhyAtOnce(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	newer := server.Database(t)
	require.NoError(t, replicas(t, newer, 1)[0].stop())
	change(t, newer, "INSERT INTO schema_version (version) VALUES (999)")
	for name, row := range map[string]struct {
		database, says string
		edit           func(*url.URL)
	}{
		"no such database": {newer, `: there is no database "nowhere"; create it (createdb nowhere)`, func(u *url.URL) { u.Path = "/nowhere" }},
		"a newer schema":   {newer, "run a newer one", func(*url.URL) {}},
		"no such mode":     {newer, "sslmode", func(u *url.URL) { u.RawQuery = "sslmode=perhaps" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(row.database)
			require.NoError(t, err)
			u.User = url.UserPassword(u.User.Username(), "geheim")
			row.edit(u)
			o := options(t.TempDir())
			over(u.String())(&o.Config)
			require.NoError(t, o.Config.Validate())
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // less than a start waits
			defer cancel()
			_, err = relay.New(ctx, o)
			require.ErrorContains(t, err, row.says)
			require.NotContains(t, err.Error(), "geheim")
		})
	}
}
