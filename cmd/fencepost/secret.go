package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"
)

// envSecret names the variable that holds the key; a flag would show in ps.
const envSecret = "NOSTR_SECRET_KEY"

// keyFlag says where a secret key is. It is never an argument itself.
type keyFlag struct {
	Key string `help:"File with a secret key: an nsec or 64 hex digits. Default: the key in $$NOSTR_SECRET_KEY." placeholder:"FILE"`
}

var errNoKey = errors.New("a secret key is needed: --key FILE or " + envSecret)

// secret returns the key as hex digits, "" when there is none, which is an error when one
// is needed. The error does not tell it.
func (f keyFlag) secret(p *process, needed bool) (string, error) {
	if f.Key != "" {
		data, err := os.ReadFile(f.Key)
		if err != nil {
			return "", fmt.Errorf("key: %w", err)
		}
		return parseSecret(strings.TrimSpace(string(data)), f.Key)
	}
	if s := p.getenv(envSecret); s != "" {
		return parseSecret(s, envSecret)
	}
	if needed {
		return "", errNoKey
	}
	return "", nil
}

// parseSecret reads a key that came from somewhere.
func parseSecret(s, from string) (string, error) {
	if prefix, key, err := nip19.Decode(s); err == nil && prefix == "nsec" {
		s = key.(string)
	}
	if _, err := nostr.GetPublicKey(s); err != nil || !nostr.IsValid32ByteHex(s) {
		return "", fmt.Errorf("%s is neither an nsec nor 64 hex digits of a secret key", from)
	}
	return s, nil
}

// publicKey returns the hex digits of an npub, and anything else as it is.
func publicKey(s string) string {
	if prefix, key, err := nip19.Decode(s); err == nil && prefix == "npub" {
		return key.(string)
	}
	return s
}
