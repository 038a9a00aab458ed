package nip98_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/web/nip98"
	"fencepost/relay/wire"
)

const (
	key  = "0000000000000000000000000000000000000000000000000000000000000001"
	self = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"

	address = "https://relay.example/api/x?a=1&b=%20"
)

// verifier returns one whose relay is called so, with a ledger of its own.
func verifier(bases ...string) *nip98.Verifier {
	return nip98.New(nip98.Options{
		Now: time.Now, Ledger: nip98.NewMemory(1000, time.Now),
		Bases: func(*http.Request) []string { return bases },
	})
}

func request(method, target, authorization string) *http.Request {
	r := httptest.NewRequest(method, target, nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return r
}

// signed returns the header of a token that was changed before it was signed.
func signed(t testing.TB, change func(*nostr.Event)) string {
	t.Helper()
	e := nostr.Event{
		Kind: nip98.Kind, CreatedAt: nostr.Timestamp(time.Now().Unix()),
		Tags: nostr.Tags{{"u", address}, {"method", "POST"}, {"payload", emptyObject}},
	}
	change(&e)
	require.NoError(t, e.Sign(key))
	return header(e)
}

func header(e nostr.Event) string {
	return "Nostr " + base64.StdEncoding.EncodeToString(wire.NewEvent(e).Raw())
}

// emptyObject is the SHA-256 of "{}".
const emptyObject = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"

func requireRefused(t testing.TB, err error, status int, text string) {
	t.Helper()
	var refusal *nip98.Refusal
	require.ErrorAs(t, err, &refusal, text)
	require.Equal(t, status, refusal.Status, err)
	require.Contains(t, refusal.Reason.String(), text)
}

func TestARequestIsVerifiedWithTheHeaderOfItsClient(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "{}"} {
		h, err := nip98.Header(key, "POST", address, []byte(body), time.Now())
		require.NoError(t, err)
		who, err := verifier("wss://relay.example").Verify(request("POST", address, h), []byte(body), nil)
		require.NoError(t, err)
		require.Equal(t, self, who)
	}
	_, err := nip98.Header("no key", "POST", address, nil, time.Now())
	require.Error(t, err)

	v, now := verifier("wss://relay.example"), time.Now()
	for range 2 { // equal requests of one second are two
		h, err := nip98.Header(key, "GET", address, nil, now)
		require.NoError(t, err)
		_, err = v.Verify(request("GET", address, h), nil, nil)
		require.NoError(t, err)
	}
}

func TestWhatIsNoTokenOfTheRequestIsRefused(t *testing.T) {
	t.Parallel()
	tag := func(name string, rest ...string) func(*nostr.Event) {
		return func(e *nostr.Event) {
			for i, old := range e.Tags {
				if old[0] == name {
					e.Tags[i] = append(nostr.Tag{name}, rest...)
				}
			}
		}
	}
	without := func(name string) func(*nostr.Event) {
		return func(e *nostr.Event) {
			e.Tags = slices.DeleteFunc(e.Tags, func(t nostr.Tag) bool { return t[0] == name })
		}
	}
	good := signed(t, func(*nostr.Event) {})
	forged := nostr.Event{Kind: nip98.Kind, CreatedAt: nostr.Now(), Tags: nostr.Tags{{"u", address}, {"method", "POST"}, {"payload", emptyObject}}}
	require.NoError(t, forged.Sign(key))
	badSig, badID := forged, forged
	badSig.Sig = strings.Repeat("ab", 64)
	badID.Content = "changed after signing"
	for name, row := range map[string]struct{ authorization, want string }{
		"no header":             {"", "auth-required: the request has no Authorization"},
		"another scheme":        {"Bearer abc", "auth-required: the scheme"},
		"scheme alone":          {"Nostr", "not an event"},
		"no blank":              {"Nostr" + good[6:], "auth-required: the scheme"},
		"no base64":             {"Nostr ?", "not base64"},
		"no padding":            {strings.TrimRight(good, "=") + "?", "not base64"},
		"something behind it":   {good + " x", "not base64"},
		"base64 of nothing":     {"Nostr " + base64.StdEncoding.EncodeToString([]byte("null")), "not an event"},
		"base64 of a list":      {"Nostr " + base64.StdEncoding.EncodeToString([]byte("[]")), "not an event"},
		"too long":              {"Nostr " + strings.Repeat("a", 9000), "too long"},
		"another kind":          {signed(t, func(e *nostr.Event) { e.Kind = 22242 }), "kind"},
		"another method":        {signed(t, tag("method", "post")), "method"},
		"no method":             {signed(t, without("method")), "method"},
		"another host":          {signed(t, tag("u", strings.Replace(address, "relay", "other", 1))), "u tag"},
		"no u":                  {signed(t, without("u")), "u tag"},
		"u without value":       {signed(t, tag("u")), "u tag"},
		"no payload":            {signed(t, without("payload")), "no payload tag"},
		"payload without value": {signed(t, tag("payload")), "SHA-256"},
		"another payload":       {signed(t, tag("payload", strings.Repeat("0", 64))), "SHA-256"},
		"a wrong signature":     {header(badSig), "id or signature"},
		"a wrong id":            {header(badID), "id or signature"},
	} {
		_, err := verifier("https://relay.example").Verify(request("POST", address, row.authorization), []byte("{}"), nil)
		requireRefused(t, err, http.StatusUnauthorized, row.want)
		require.Contains(t, err.Error(), ": ", name)
	}

	twice := request("POST", address, good)
	twice.Header.Add("Authorization", good)
	_, err := verifier("https://relay.example").Verify(twice, []byte("{}"), nil)
	requireRefused(t, err, http.StatusUnauthorized, "two Authorization headers")
	_, err = verifier("https://relay.example").Verify(request("POST", address, good), nil, nil)
	requireRefused(t, err, http.StatusUnauthorized, "SHA-256")

	for _, h := range []string{good, "nOsTr   " + good[6:]} {
		_, err = verifier("https://relay.example").Verify(request("POST", address, h), []byte("{}"), nil)
		require.NoError(t, err)
	}
}

func TestURLsAreComparedInOneForm(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		claimed, target, base string
		same                  bool
	}{
		{"https://a.b", "/", "wss://a.b", true},
		{"https://a.b/", "/", "wss://a.b/", true},
		{"wss://a.b/", "/", "https://a.b", true},
		{"HTTPS://A.B:443/", "/", "wss://a.b", true},
		{"https://a.b.", "/", "wss://A.B:443", true},
		{"http://a.b:80/nostr", "/nostr/", "ws://a.b/nostr", true},
		{"http://a.b:8080", "/", "ws://a.b:8080", true},
		{"http://[::1]:7447/", "/", "ws://[::1]:7447", true},
		{"https://a.b/x?q=1", "/x?q=1", "https://a.b/other", true},
		{"https://a.b/api/presence?pubkeys=A,B", "/api/presence?pubkeys=A,B", "wss://a.b", true},
		{"https://a.b/api/presence?pubkeys=A%2CB", "/api/presence?pubkeys=A,B", "wss://a.b", false},
		{"https://a.b/api/presence?pubkeys=B,A", "/api/presence?pubkeys=A,B", "wss://a.b", false},
		{"https://a.b/api/presence", "/api/presence?pubkeys=A,B", "wss://a.b", false},
		{"https://a.b/x", "/x?q=1", "https://a.b", false},
		{"https://a.b/x?q=1", "/x", "https://a.b", false},
		{"https://a.b/x?b=2&a=1", "/x?a=1&b=2", "https://a.b", false},
		{"http://a.b", "/", "wss://a.b", false},
		{"https://a.b:80", "/", "wss://a.b", false},
		{"https://a.b:443:443", "/", "wss://a.b", false},
		{"https://a.b/x", "/y", "wss://a.b", false},
		{"https://a.b/x%2Fy", "/x/y", "wss://a.b", false},
		{"https://a.b/x%2Fy", "/x%2Fy", "wss://a.b", true},
		{"https://a.b/X", "/x", "wss://a.b", false},
		{"https://a.b/?q=1#f", "/?q=1", "wss://a.b", false},
		{"https://a.b/#?q=1", "/", "wss://a.b", false},
		{"//a.b/", "/", "wss://a.b", false},
		{"/", "/", "wss://a.b", false},
		{"", "/", "wss://a.b", false},
		{"ftp://a.b/", "/", "ftp://a.b", false},
		{"https:///", "/", "https:///", false},
		{"https://a.b/", "/", "://", false},
		{"https://a.b/%", "/", "wss://a.b", false},
	} {
		h, err := nip98.Header(key, "GET", row.claimed, nil, time.Now())
		require.NoError(t, err)
		_, err = verifier("https://unrelated.example", row.base).Verify(request("GET", row.target, h), nil, nil)
		if row.same {
			require.NoError(t, err, "%+v", row)
			continue
		}
		requireRefused(t, err, http.StatusUnauthorized, "u tag")
	}
}

// Whenever a token comes, it is good within its window, and once.
func TestATokenIsGoodOnceWithinItsWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const widest = 63
		made := time.Now().Add(widest * time.Second)
		h, err := nip98.Header(key, "GET", address, nil, made)
		require.NoError(t, err)
		one := verifier("https://relay.example")
		used := false
		for distance := -widest; distance <= widest; distance++ {
			for range 2 { // at the start of the second, and close to its end
				within := distance >= -60 && distance <= 60
				_, err := one.Verify(request("GET", address, h), nil, nil)
				_, fresh := verifier("https://relay.example").Verify(request("GET", address, h), nil, nil)
				switch {
				case !within:
					requireRefused(t, err, http.StatusUnauthorized, "60 seconds")
					requireRefused(t, fresh, http.StatusUnauthorized, "60 seconds")
				case used:
					requireRefused(t, err, http.StatusUnauthorized, "used before")
					require.ErrorContains(t, err, "nonce")
					require.NoError(t, fresh)
				default:
					require.NoError(t, err)
					used = true
				}
				<-time.After(499 * time.Millisecond)
			}
			<-time.After(2 * time.Millisecond)
		}
		require.True(t, used)
	})
}

// What the ledger of one process remembers does not outlive it.
func TestATokenFromBeforeTheLedgerBeganIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		<-time.After(700 * time.Millisecond)
		restarted := nip98.New(nip98.Options{
			Now: time.Now, Since: time.Now(), Ledger: nip98.NewMemory(10, time.Now),
			Bases: func(*http.Request) []string { return []string{"https://relay.example"} },
		})
		before, err := nip98.Header(key, "GET", address, nil, time.Now())
		require.NoError(t, err)
		_, err = restarted.Verify(request("GET", address, before), nil, nil)
		requireRefused(t, err, http.StatusUnauthorized, "started")
		<-time.After(time.Second)
		after, err := nip98.Header(key, "GET", address, nil, time.Now())
		require.NoError(t, err)
		_, err = restarted.Verify(request("GET", address, after), nil, nil)
		require.NoError(t, err)
	})
}

// A request that was checked in time and comes to the ledger after the window is
// refused: who used the token in time may be forgotten.
func TestATokenThatComesToTheLedgerTooLateIsNotGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := nip98.NewMemory(10, time.Now)
		until := time.Now().Add(time.Second)
		first, err := m.Seen(t.Context(), "a", until)
		require.NoError(t, err)
		require.True(t, first)
		<-time.After(time.Second)
		for range 2 {
			first, err = m.Seen(t.Context(), "a", until)
			require.NoError(t, err)
			require.False(t, first)
		}
	})
}

func TestOfManyCallersOneIsTheFirst(t *testing.T) {
	t.Parallel()
	m := nip98.NewMemory(10, time.Now)
	until := time.Now().Add(time.Minute)
	firsts := make(chan bool)
	const callers = 50
	for range callers {
		go func() {
			first, err := m.Seen(t.Context(), "a", until)
			firsts <- first && err == nil
		}()
	}
	count := 0
	for range callers {
		if <-firsts {
			count++
		}
	}
	require.Equal(t, 1, count)
}

func TestAFullMemoryFailsAndForgetsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := nip98.NewMemory(2, time.Now)
		seen := func(id string, d time.Duration) (bool, error) { return m.Seen(t.Context(), id, time.Now().Add(d)) }
		for _, id := range []string{"a", "b"} {
			first, err := seen(id, 1500*time.Millisecond)
			require.NoError(t, err)
			require.True(t, first)
		}
		_, err := seen("c", time.Second)
		require.ErrorIs(t, err, nip98.ErrFull)
		first, err := seen("a", time.Second)
		require.NoError(t, err)
		require.False(t, first)
		<-time.After(1500 * time.Millisecond)
		<-time.After(500 * time.Millisecond) // ends are whole seconds
		first, err = seen("c", time.Second)
		require.NoError(t, err)
		require.True(t, first)
	})
}

// broken is a ledger that cannot be reached.
type broken struct{ asked int }

func (b *broken) Seen(context.Context, string, time.Time) (bool, error) {
	b.asked++
	return false, errors.New("secret of the database")
}

func TestWhoIsNotLetInCostsTheLedgerNothing(t *testing.T) {
	t.Parallel()
	b := &broken{}
	v := nip98.New(nip98.Options{Now: time.Now, Ledger: b, Bases: func(*http.Request) []string { return []string{"wss://relay.example"} }})
	h, err := nip98.Header(key, "GET", address, nil, time.Now())
	require.NoError(t, err)
	_, err = v.Verify(request("GET", address, h), nil, func(pubkey string) error {
		require.Equal(t, self, pubkey)
		return errors.New("for others only")
	})
	requireRefused(t, err, http.StatusForbidden, "restricted: for others only")
	require.Zero(t, b.asked)

	_, err = v.Verify(request("GET", address, h), nil, func(string) error { return nil })
	requireRefused(t, err, http.StatusServiceUnavailable, "error: ")
	require.NotContains(t, err.Error(), "database")
	require.Equal(t, 1, b.asked)
}

func TestARefusalKeepsItsOwnPrefix(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"restricted: not you":  errors.New("not you"),
		"blocked: you are bad": wire.Because(wire.Blocked, "you are bad"),
	} {
		h, failed := nip98.Header(key, "GET", address, nil, time.Now())
		require.NoError(t, failed)
		_, refused := verifier("wss://relay.example").Verify(request("GET", address, h), nil, func(string) error { return err })
		var refusal *nip98.Refusal
		require.ErrorAs(t, refused, &refusal)
		require.Equal(t, want, refusal.Reason.String())
	}
}
