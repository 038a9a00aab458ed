package relay_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/regress/postgres"
	"fencepost/relay/client"
	"fencepost/relay/config"
	"fencepost/relay/web/nip98"
	"fencepost/relay/wire"
)

// ask calls a method of the management API and decodes its result.
func (r *running) ask(t *testing.T, into any, method string, params ...any) (refusal string) {
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
	_, text := do(t, req)
	var answer struct {
		Result json.RawMessage
		Error  string
	}
	require.NoError(t, json.Unmarshal([]byte(text), &answer), text)
	if answer.Error == "" {
		require.NoError(t, json.Unmarshal(answer.Result, into), text)
	}
	return answer.Error
}

// deadLetter is an entry of listdeadletters.
type deadLetter struct {
	Position int
	Replica  string
	Attempts int
	Error    string
	Time     int64
}

func (r *running) deadLetters(t *testing.T) (list []deadLetter) {
	t.Helper()
	require.Empty(t, r.ask(t, &list, "listdeadletters"))
	return list
}

// publishAs publishes an event of a kind, by the holder of secret.
func publishAs(t *testing.T, c *client.Client, secret string, kind int, content string) *wire.Event {
	t.Helper()
	ev := nostr.Event{Kind: kind, CreatedAt: nostr.Now(), Content: content}
	require.NoError(t, ev.Sign(secret))
	signed := wire.NewEvent(ev)
	require.NoError(t, c.Publish(t.Context(), signed))
	return signed
}

// Events of kind 4242 cannot be read from the log, as if they were of a newer program
// or damaged. Each replica gives them up for itself (O9, O13, O15, O17).
func TestARowThatNobodyCanReadIsGivenUpOnEachReplica(t *testing.T) {
	t.Parallel()
	database := postgres.Start(t).Database(t)
	all := replicas(t, database, 2, operated(t))
	change(t, database, `CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.raw = 'spoilt'; RETURN NEW; END $$;
		CREATE TRIGGER spoil BEFORE INSERT ON events FOR EACH ROW WHEN (NEW.kind = 4242) EXECUTE FUNCTION spoil()`)
	var concerned, others []*client.Client
	for _, r := range all {
		c, other := r.dial(t), r.dial(t)
		open(t, c, `{"kinds":[4242]}`)
		open(t, other, `{"kinds":[1]}`)
		concerned, others = append(concerned, c), append(others, other)
	}
	writer := all[0].dial(t)
	publishAs(t, writer, bobKey, 4242, "x")
	after := publishAs(t, writer, bobKey, 1, "others go on")
	for _, c := range others {
		require.Equal(t, after.ID, next(t, c).Event.ID)
	}
	for _, c := range concerned {
		m := next(t, c)
		require.Equal(t, "CLOSED", m.Verb)
		require.True(t, strings.HasPrefix(m.Text, "error: "), m.Text)
	}
	list := all[0].deadLetters(t)
	until(t, func() bool { list = all[0].deadLetters(t); return len(list) == 2 })
	require.Equal(t, list, all[1].deadLetters(t), "each tells those of all")
	require.NotEqual(t, list[0].Replica, list[1].Replica)
	for _, l := range list {
		require.Equal(t, 5, l.Attempts)
		require.Equal(t, "damaged", l.Error)
		require.Equal(t, list[0].Position, l.Position)
	}
	require.Equal(t, 1, all[0].metric(t, `fencepost_dead_letters_total{class="damaged"}`))
	require.Zero(t, all[0].metric(t, "fencepost_deferred_rows"))

	var done bool
	require.Contains(t, all[0].ask(t, &done, "requeuedeadletter", 999), "no dead letter at position 999")
	for n, r := range all {
		require.Empty(t, r.ask(t, &done, "requeuedeadletter", list[0].Position))
		require.True(t, done)
		until(t, func() bool { return r.metric(t, `fencepost_dead_letters_total{class="damaged"}`) == 2 })
		require.Len(t, r.deadLetters(t), 2, "replica %d has given it up again", n)
	}
	change(t, database, `DROP TRIGGER spoil ON events; DELETE FROM events WHERE kind = 4242; UPDATE log SET type = 4, detail = 1 WHERE position = `+
		"(SELECT min(position) FROM dead_letters)")
	for _, r := range all {
		require.Empty(t, r.ask(t, &done, "requeuedeadletter", list[0].Position))
	}
	until(t, func() bool { return len(all[0].deadLetters(t)) == 0 })
	for _, c := range others {
		require.NoError(t, c.Send(context.WithoutCancel(t.Context()), []byte(`["CLOSE","live"]`)))
	}
}

func TestAnEmptyListOfDeadLettersIsOne(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), func(c *config.Config) { c.Relay.PubKey = public(t, operatorKey) })
	require.Empty(t, r.deadLetters(t))
	var done bool
	require.Contains(t, r.ask(t, &done, "requeuedeadletter", 1), "no dead letter at position 1")
}
