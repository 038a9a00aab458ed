package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

const secretKey = "0000000000000000000000000000000000000000000000000000000000000003"

var (
	hexA = strings.Repeat("a", 64)
	hexB = strings.Repeat("b", 64)
	sigC = strings.Repeat("c", 128)
)

// signed returns a kind 1 event with a right id and signature.
func signed(t testing.TB, content string, tags ...nostr.Tag) *wire.Event {
	t.Helper()
	ev := nostr.Event{CreatedAt: 1700000000, Kind: 1, Tags: tags, Content: content}
	require.NoError(t, ev.Sign(secretKey))
	return wire.NewEvent(ev)
}

// unsignedJSON is a well-formed event whose id and signature are made up.
// Pairs of old and new text are replaced in it.
func unsignedJSON(replace ...string) string {
	s := `{"id":"` + hexA + `","pubkey":"` + hexB + `","created_at":7,"kind":1,"tags":[["e","x"]],"content":"hi","sig":"` + sigC + `"}`
	return strings.NewReplacer(replace...).Replace(s)
}

// refusal decodes a message that must be refused.
func refusal(t testing.TB, message string) *wire.Error {
	t.Helper()
	m, err := wire.Decode([]byte(message))
	require.Error(t, err, message)
	require.Nil(t, m)
	var refused *wire.Error
	require.ErrorAs(t, err, &refused)
	return refused
}

// elements decodes a JSON array with encoding/json.
func elements(t testing.TB, frame []byte) []any {
	t.Helper()
	var list []any
	require.NoError(t, json.Unmarshal(frame, &list), "%s", frame)
	return list
}
