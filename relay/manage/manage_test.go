package manage_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access"
	"fencepost/relay/manage"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

const relayKey = "0000000000000000000000000000000000000000000000000000000000000009"

// replica is a relay that follows its log only while somebody waits for it.
type replica struct {
	*storetest.Fake
	api     *manage.API
	policy  *access.Policy
	applied store.Position
	before  func()                                      // runs ahead of each commit
	await   func(context.Context, store.Position) error // instead of following
}

func start(t *testing.T) *replica {
	t.Helper()
	self, err := nostr.GetPublicKey(relayKey)
	require.NoError(t, err)
	r := &replica{Fake: storetest.NewFake(time.Now)}
	r.policy = access.New(access.Options{
		Self: self, Sign: func(e *nostr.Event) error { return e.Sign(relayKey) }, Now: time.Now,
		Rules: access.Rules{Members: access.MembersWrite, Operator: key(1)},
	})
	r.api = manage.New(manage.Options{Mirrors: func() any { return []string{} }, Access: r.policy, Store: r, Progress: r, Letters: r, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	return r
}

func (r *replica) Append(ctx context.Context, writes []store.Write) []store.Outcome {
	if r.before != nil {
		r.before()
	}
	return r.Fake.Append(ctx, writes)
}

func (r *replica) Await(ctx context.Context, at store.Position) error {
	if r.await != nil {
		return r.await(ctx, at)
	}
	return r.follow(ctx, at)
}

func (r *replica) follow(ctx context.Context, at store.Position) error {
	rows, err := r.ReadControl(ctx, r.applied, 1000)
	for i := 0; err == nil && i < len(rows) && rows[i].Position <= at; i++ {
		_, err = r.policy.Apply(&rows[i])
		r.applied = rows[i].Position
	}
	return err
}

// call returns the result as JSON.
func (r *replica) call(t *testing.T, method string, params ...any) (string, error) {
	t.Helper()
	raw := make([]json.RawMessage, len(params))
	for i, p := range params {
		data, err := json.Marshal(p)
		require.NoError(t, err)
		raw[i] = data
	}
	result, err := r.api.Call(t.Context(), method, raw)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(result)
	require.NoError(t, err)
	return string(data), nil
}

func (r *replica) requireResult(t *testing.T, want, method string, params ...any) {
	t.Helper()
	got, err := r.call(t, method, params...)
	require.NoError(t, err, method)
	require.JSONEq(t, want, got, method)
}

// key returns the public key of a small secret.
func key(n int) string {
	public, err := nostr.GetPublicKey(strings.Repeat("0", 62) + string(rune('0'+n)) + "1")
	if err != nil {
		panic(err)
	}
	return public
}

// by returns a signed event of the author of key(n).
func by(t *testing.T, n int, e nostr.Event) *wire.Event {
	t.Helper()
	if e.CreatedAt == 0 {
		e.CreatedAt = nostr.Now()
	}
	require.NoError(t, e.Sign(strings.Repeat("0", 62)+string(rune('0'+n))+"1"))
	return wire.NewEvent(e)
}

func (r *replica) put(t *testing.T, events ...*wire.Event) {
	t.Helper()
	for _, e := range events {
		out := r.Fake.Append(t.Context(), []store.Write{{Event: e}})
		require.NoError(t, out[0].Err)
	}
}

func (r *replica) holds(t *testing.T, id string) bool {
	t.Helper()
	s, err := r.Snapshot(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	n, _, err := s.Count(t.Context(), []*wire.Filter{wire.NewFilter(nostr.Filter{IDs: []string{id}})}, 0, nil)
	require.NoError(t, err)
	return n == 1
}

func TestListsFollowWhatWasDone(t *testing.T) {
	t.Parallel()
	r := start(t)
	type step struct {
		method string
		params []any
		want   string
	}
	p := func(params ...any) []any { return params }
	for i, s := range []step{
		{"listbannedpubkeys", nil, `[]`},
		{"banpubkey", p(key(2), "spam"), `true`},
		{"banpubkey", p(key(2), "spam"), `true`},
		{"listbannedpubkeys", nil, `[{"pubkey":"` + key(2) + `","reason":"spam"}]`},
		{"allowpubkey", p(key(2), "sorry"), `true`},
		{"listbannedpubkeys", nil, `[]`},
		{"listallowedpubkeys", nil, `[{"pubkey":"` + key(2) + `"}]`},
		{"banpubkey", p(key(2)), `true`},
		{"listallowedpubkeys", nil, `[]`},
		{"unbanpubkey", p(key(2), "once more"), `true`},
		{"unbanpubkey", p(key(2)), `true`},
		{"listbannedpubkeys", nil, `[]`},
		{"listallowedpubkeys", nil, `[]`},
		{"allowpubkey", p(key(3)), `true`},
		{"unallowpubkey", p(key(3), nil), `true`},
		{"listallowedpubkeys", nil, `[]`},

		{"listallowedkinds", nil, `[]`},
		{"disallowkind", p(4), `true`},
		{"listdisallowedkinds", nil, `[4]`},
		{"allowkind", p(4), `true`},
		{"allowkind", p(1), `true`},
		{"listdisallowedkinds", nil, `[]`},
		{"listallowedkinds", nil, `[1]`},
		{"unlistkind", p(1), `true`},
		{"listallowedkinds", nil, `[]`},

		{"listblockedips", nil, `[]`},
		{"blockip", p("192.0.2.7", "flood"), `true`},
		{"blockip", p("2001:DB8::1/32"), `true`},
		{"listblockedips", nil, `[{"ip":"192.0.2.7","reason":"flood"},{"ip":"2001:db8::/32"}]`},
		{"unblockip", p("192.0.2.7"), `true`},
		{"unblockip", p("2001:db8::/32", "why not"), `true`},
		{"listblockedips", nil, `[]`},

		{"listmirrors", nil, `[]`},
	} {
		got, err := r.call(t, s.method, s.params...)
		require.NoError(t, err, "step %d %s", i, s.method)
		require.JSONEq(t, s.want, got, "step %d %s", i, s.method)
	}
}

func TestSupportedMethodsAreThoseThatCanBeCalled(t *testing.T) {
	t.Parallel()
	r := start(t)
	got, err := r.call(t, "supportedmethods")
	require.NoError(t, err)
	var names []string
	require.NoError(t, json.Unmarshal([]byte(got), &names))
	require.NotContains(t, names, "supportedmethods")
	require.IsIncreasing(t, names)
	require.Len(t, names, 25)
	for _, name := range append(names, "supportedmethods") {
		_, err := r.call(t, name, 1, 2, 3, 4)
		requireRefused(t, err, wire.Invalid, "parameter", name)
	}
	_, err = r.call(t, "changerelayname", "x")
	requireRefused(t, err, wire.Unsupported, "no such method", "changerelayname")
}

func requireRefused(t *testing.T, err error, prefix wire.Prefix, text, about string) {
	t.Helper()
	var reason wire.Reason
	require.ErrorAs(t, err, &reason, about)
	require.Equal(t, prefix, reason.Prefix, about)
	require.Contains(t, reason.Text, text, about)
}

func TestWrongParametersAreNamed(t *testing.T) {
	t.Parallel()
	r := start(t)
	id := strings.Repeat("ab", 32)
	for _, row := range []struct {
		method string
		params []any
		want   string
	}{
		{"banpubkey", nil, "parameter 1 must be a public key"},
		{"banpubkey", []any{nil}, "parameter 1 must be a public key"},
		{"banpubkey", []any{strings.ToUpper(key(2))}, "parameter 1 must be a public key"},
		{"banpubkey", []any{strings.Repeat("f", 64)}, "parameter 1 must be a public key"},
		{"banpubkey", []any{"npub1x"}, "parameter 1 must be a public key"},
		{"banpubkey", []any{key(2), 7}, "parameter 2 must be a reason"},
		{"banpubkey", []any{key(2), strings.Repeat("é", 1001)}, "parameter 2 must be a reason"},
		{"banpubkey", []any{key(2), "", ""}, "at most 2 parameters"},
		{"banpubkey", []any{key(1)}, "nor its operator can be banned"},
		{"banevent", []any{id[1:]}, "parameter 1 must be an event id"},
		{"allowkind", []any{"1"}, "parameter 1 must be a kind"},
		{"allowkind", []any{-1}, "parameter 1 must be a kind"},
		{"allowkind", []any{65536}, "parameter 1 must be a kind"},
		{"allowkind", []any{1.5}, "parameter 1 must be a kind"},
		{"blockip", []any{"localhost"}, "IP address"},
		{"blockip", []any{map[string]int{}}, "parameter 1 must be an IP address"},
		{"createclaim", []any{-1}, "parameter 1 must be a number"},
		{"createclaim", []any{1, 1e12}, "parameter 2 must be a number"},
		{"createclaim", []any{1, 1, 1}, "at most 2 parameters"},
		{"removeclaim", nil, "parameter 1 must be a claim"},
		{"requeuedeadletter", nil, "parameter 1 must be a position"},
		{"requeuedeadletter", []any{0}, "parameter 1 must be a position"},
		{"requeuedeadletter", []any{-1}, "parameter 1 must be a position"},
		{"requeuedeadletter", []any{"x"}, "parameter 1 must be a position"},
		{"requeuedeadletter", []any{9}, "no dead letter at position 9"},
		{"listdeadletters", []any{1}, "at most 0 parameters"},
		{"listclaims", []any{1}, "at most 0 parameters"},
	} {
		_, err := r.call(t, row.method, row.params...)
		requireRefused(t, err, wire.Invalid, row.want, row.method)
	}
	info, err := r.Log(t.Context())
	require.NoError(t, err)
	require.Zero(t, info.Head, "nothing was written")
}

func TestABannedEventIsGoneAndStaysAway(t *testing.T) {
	t.Parallel()
	r := start(t)
	e := by(t, 2, nostr.Event{Kind: 1, Content: "bad"})
	r.put(t, e)
	r.requireResult(t, `true`, "banevent", e.ID, "bad")
	require.False(t, r.holds(t, e.ID))
	r.requireResult(t, `[{"id":"`+e.ID+`","reason":"bad"}]`, "listbannedevents")
	require.ErrorIs(t, r.Fake.Append(t.Context(), []store.Write{{Event: e}})[0].Err, store.ErrBanned)

	for _, method := range []string{"unbanevent", "allowevent"} {
		r.requireResult(t, `true`, method, e.ID, "a mistake")
		r.requireResult(t, `[]`, "listbannedevents")
		r.put(t, e)
		r.requireResult(t, `true`, "banevent", e.ID)
	}
}

func TestClaimsAreGoodForWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.requireResult(t, `[]`, "listclaims")
		var all []manage.Claim
		for _, row := range []struct {
			params []any
			uses   int
			life   time.Duration
		}{
			{nil, 1, 7 * 24 * time.Hour},
			{[]any{5}, 5, 7 * 24 * time.Hour},
			{[]any{0, 0}, 0, 0},
			{[]any{nil, 60}, 1, time.Minute},
		} {
			got, err := r.call(t, "createclaim", row.params...)
			require.NoError(t, err)
			var made manage.Claim
			require.NoError(t, json.Unmarshal([]byte(got), &made))
			require.GreaterOrEqual(t, len(made.Claim), 20)
			made.Uses = row.uses
			if row.life > 0 {
				made.Expires = time.Now().Add(row.life).Unix()
			}
			all = append(all, made)
		}
		got, err := r.call(t, "listclaims")
		require.NoError(t, err)
		var listed []manage.Claim
		require.NoError(t, json.Unmarshal([]byte(got), &listed))
		require.ElementsMatch(t, all, listed)

		for _, c := range all {
			r.requireResult(t, `true`, "removeclaim", c.Claim)
		}
		r.requireResult(t, `true`, "removeclaim", "never made")
		r.requireResult(t, `[]`, "listclaims")
	})
}

// The answer comes when the change is in force here, and not before.
func TestTheAnswerWaitsForTheFollower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		proceed := make(chan struct{})
		r.await = func(ctx context.Context, at store.Position) error {
			<-proceed
			return r.follow(ctx, at)
		}
		answered := make(chan error, 1)
		go func() {
			_, err := r.call(t, "banpubkey", key(2))
			answered <- err
		}()
		synctest.Wait()
		require.Empty(t, answered)
		require.Empty(t, r.policy.BannedKeys())
		close(proceed)
		require.NoError(t, <-answered)
		require.Len(t, r.policy.BannedKeys(), 1)
	})
}

func TestAReplicaThatDoesNotFollowItsLogSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.await = func(ctx context.Context, _ store.Position) error {
			<-ctx.Done()
			return ctx.Err()
		}
		began := time.Now()
		_, err := r.call(t, "banpubkey", key(2))
		requireRefused(t, err, wire.Failed, "does not follow its log", "late")
		require.Equal(t, 10*time.Second, time.Since(began))

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = r.api.Call(ctx, "banpubkey", []json.RawMessage{json.RawMessage(`"` + key(3) + `"`)})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// Somebody else changes the lists of kinds between the plan and the commit.
func TestAPlanFromAnOlderStateIsMadeAnew(t *testing.T) {
	t.Parallel()
	r := start(t)
	rivals, next := 2, 40
	r.before = func() {
		if rivals == 0 {
			return
		}
		rivals, next = rivals-1, next+1
		w, err := r.policy.DisallowKind(next)
		require.NoError(t, err)
		require.NoError(t, r.Fake.Append(t.Context(), []store.Write{w})[0].Err)
	}
	r.requireResult(t, `true`, "disallowkind", 1)
	require.Len(t, r.policy.DisallowedKinds(), 3)

	rivals = 3
	_, err := r.call(t, "disallowkind", 2)
	requireRefused(t, err, wire.Failed, "too often", "three rivals")
	require.NotContains(t, r.policy.DisallowedKinds(), 2)
}

// A store that fails is nothing that the operator's client should read about.
func TestAnInternalFailureIsNoReason(t *testing.T) {
	t.Parallel()
	r := start(t)
	require.NoError(t, r.Fake.Close())
	for _, method := range []string{"banpubkey", "listeventsneedingmoderation"} {
		params := []any{key(2)}[:min(1, strings.Count(method, "ban"))]
		_, err := r.call(t, method, params...)
		require.ErrorIs(t, err, store.ErrClosed, method)
		var reason wire.Reason
		require.False(t, errors.As(err, &reason))
	}
	_, err := r.call(t, "listbannedpubkeys")
	require.NotErrorIs(t, err, io.EOF)
	require.NoError(t, err, "it is answered from memory")
}
