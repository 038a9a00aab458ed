package nip98

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

const (
	// Kind is that of a token.
	Kind = 27235

	scheme = "Nostr"
	// maxToken bounds the header, in bytes: a token needs a few hundred.
	maxToken = 8 << 10
)

// Header returns the value of the Authorization header for one request, made at
// now by the secret key (64 hex digits). The URL is absolute, as it is asked for.
// Salt keeps two equal requests of one second from having one token.
func Header(key, method, url string, body []byte, now time.Time) (string, error) {
	e := nostr.Event{
		Kind: Kind, CreatedAt: nostr.Timestamp(now.Unix()),
		Tags: nostr.Tags{{"u", url}, {"method", method}, {"salt", rand.Text()}},
	}
	if len(body) > 0 {
		e.Tags = append(e.Tags, nostr.Tag{"payload", hash(body)})
	}
	if err := e.Sign(key); err != nil {
		return "", fmt.Errorf("sign the request: %w", err)
	}
	return scheme + " " + base64.StdEncoding.EncodeToString(wire.NewEvent(e).Raw()), nil
}

// decode returns the event of the only Authorization header.
func decode(h http.Header) (*wire.Event, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return nil, unauthorized(wire.AuthRequired, "the request has no Authorization header (NIP-98)")
	}
	if len(values) > 1 {
		return nil, invalid("the request has two Authorization headers")
	}
	name, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(name, scheme) {
		return nil, unauthorized(wire.AuthRequired, "the scheme of the Authorization header is not Nostr (NIP-98)")
	}
	token = strings.TrimLeft(token, " ")
	if len(token) > maxToken {
		return nil, invalid("the token is too long")
	}
	data, err := base64.StdEncoding.Strict().DecodeString(token)
	if err != nil {
		return nil, invalid("the token is not base64")
	}
	e, err := wire.DecodeEvent(data)
	if err != nil {
		return nil, invalid("the token is not an event")
	}
	return e, nil
}

func hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
