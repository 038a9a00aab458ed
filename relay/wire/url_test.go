package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

func TestRelayURLsHaveOneNormalForm(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"ws://relay.test/":                      "ws://relay.test",
		" WS://Relay.TEST:80 ":                  "ws://relay.test",
		"http://relay.test":                     "ws://relay.test",
		"https://relay.test:443/":               "wss://relay.test",
		"wss://relay.test:80":                   "wss://relay.test:80",
		"ws://relay.test:443":                   "ws://relay.test:443",
		"wss://relay.test.":                     "wss://relay.test",
		"wss://relay.test:":                     "wss://relay.test",
		"wss://user:secret@relay.test#fragment": "wss://relay.test",
		"wss://Relay.Test:4848/Nostr//":         "wss://relay.test:4848/Nostr",
		"wss://relay.test/a%2Fb":                "wss://relay.test/a%2Fb",
		"ws://[2001:DB8::1]:80":                 "ws://[2001:db8::1]",
		"ws://[::1]:7447":                       "ws://[::1]:7447",
		"ws://[::1:7447]":                       "ws://[::1:7447]",
	} {
		got, ok := wire.NormalURL(raw)
		require.True(t, ok, raw)
		require.Equal(t, want, got, raw)
	}
}

func TestWhatIsNoRelayURLHasNoNormalForm(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"", "relay.test", "ws://", "ws:relay.test", "ws://:80", "ws://.", "ftp://relay.test",
		"ws://relay.test?x=1", "ws://relay.test:80:80", "ws://relay.test:port", "ws://[fe80::1%25eth0]", "ALL_RELAYS",
	} {
		_, ok := wire.NormalURL(raw)
		require.False(t, ok, raw)
	}
}

func FuzzNormalURL(f *testing.F) {
	for _, raw := range []string{
		"wss://relay.test:443/nostr/", "ws://[::1]:80", "HTTPS://user@Relay.Test./a%2fb/#x", "ws://a..:1/%2e//", "ws://%C4%B0/",
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		normal, ok := wire.NormalURL(raw)
		if !ok {
			return
		}
		again, ok := wire.NormalURL(normal)
		require.True(t, ok, normal)
		require.Equal(t, normal, again)
	})
}
