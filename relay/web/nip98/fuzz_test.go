package nip98_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/web/nip98"
)

// slowly is the obvious way to read a token.
func slowly(authorization string) (e nostr.Event, ok bool) {
	scheme, token, _ := strings.Cut(authorization, " ")
	data, err := base64.StdEncoding.DecodeString(strings.TrimLeft(token, " "))
	if err != nil || !strings.EqualFold(scheme, "nostr") || json.Unmarshal(data, &e) != nil {
		return e, false
	}
	good, err := e.CheckSignature()
	return e, err == nil && good && e.CheckID()
}

func value(e nostr.Event, name string) (v string, ok bool) {
	for _, t := range e.Tags {
		if t[0] == name {
			return strings.Join(t[1:min(2, len(t))], ""), true
		}
	}
	return "", false
}

// FuzzHeader: whatever is in the header, what is let in is a token for the request.
func FuzzHeader(f *testing.F) {
	now := time.Unix(1_700_000_000, 0)
	h, err := nip98.Header(key, "POST", address, []byte("{}"), now)
	require.NoError(f, err)
	for _, seed := range []string{h, strings.ToLower(h), "Nostr e30=", "Nostr", "nostr  " + h[6:], h + "\n", h + "="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, authorization string) {
		r := request("POST", address, "")
		r.Header["Authorization"] = []string{authorization}
		v := nip98.New(nip98.Options{
			Now: func() time.Time { return now }, Ledger: nip98.NewMemory(1, func() time.Time { return now }),
			Bases: func(*http.Request) []string { return []string{"https://relay.example"} },
		})
		who, err := v.Verify(r, []byte("{}"), nil)
		if err != nil {
			var refusal *nip98.Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, http.StatusUnauthorized, refusal.Status)
			require.Empty(t, who)
			return
		}
		e, ok := slowly(authorization)
		require.True(t, ok)
		require.Equal(t, e.PubKey, who)
		require.Equal(t, nip98.Kind, e.Kind)
		require.Equal(t, emptyObject, first(value(e, "payload")))
		require.Equal(t, "POST", first(value(e, "method")))
	})
}

func first(v string, _ bool) string { return v }

// FuzzToken: a token that is signed properly is good exactly when what it says is
// true of the request.
func FuzzToken(f *testing.F) {
	sum := sha256.Sum256([]byte("x"))
	f.Add(27235, int64(0), address, "POST", hex.EncodeToString(sum[:]), "x", true)
	f.Add(27235, int64(-60), address, "GET", "", "", false)
	f.Add(27235, int64(61), "wss://relay.example/api/x?a=1&b=%20", "POST", "", "", true)
	f.Add(1, int64(60), "", "", "", "x", false)
	f.Fuzz(func(t *testing.T, kind int, offset int64, u, method, payload, body string, withPayload bool) {
		now := time.Unix(1_700_000_000, 0)
		if kind < 0 || kind > 65535 || offset < -now.Unix() || offset > 1<<40 {
			return
		}
		e := nostr.Event{Kind: kind, CreatedAt: nostr.Timestamp(now.Unix() + offset), Tags: nostr.Tags{{"u", u}, {"method", method}}}
		if withPayload {
			e.Tags = append(e.Tags, nostr.Tag{"payload", payload})
		}
		for _, s := range []string{u, method, payload} {
			if s != strings.ToValidUTF8(s, "") || len(s) > 1000 {
				return
			}
		}
		require.NoError(t, e.Sign(key))
		v := nip98.New(nip98.Options{
			Now: func() time.Time { return now }, Ledger: nip98.NewMemory(1, func() time.Time { return now }),
			Bases: func(*http.Request) []string { return []string{"https://relay.example"} },
		})
		_, err := v.Verify(request("POST", address, header(e)), []byte(body), nil)
		sum := sha256.Sum256([]byte(body))
		good := kind == 27235 && offset >= -60 && offset <= 60 && method == "POST" &&
			(withPayload || body == "") && (!withPayload || payload == hex.EncodeToString(sum[:]))
		same := u == address || u == strings.Replace(address, "https", "wss", 1)
		if !good {
			require.Error(t, err)
		} else if same {
			require.NoError(t, err)
		} else if err == nil {
			require.Contains(t, strings.ToLower(u), "relay.example")
			require.True(t, strings.HasSuffix(u, "?a=1&b=%20"), u)
		}
	})
}
