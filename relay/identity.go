package relay

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/store"
)

// identityFile holds the relay's own secret key, 64 hex digits, in the data
// folder of the embedded store. Who backs that folder up keeps the relay's name
// (NIP-11 "self").
const identityFile = "relay.key"

// identity is the relay itself, as the author of events.
type identity struct{ public, secret string } // keys, hex

// sign makes ev an event of the relay: it sets pubkey, id and signature.
func (i identity) sign(ev *nostr.Event) error { return ev.Sign(i.secret) }

// LogValue hides the secret key from slog.
func (i identity) LogValue() slog.Value { return slog.StringValue(i.public) }

// keySafe is a store of several replicas, which keeps their one key.
type keySafe interface {
	// RelayKey returns the secret key, which draft becomes when there is none.
	RelayKey(ctx context.Context, draft []byte) ([]byte, error)
}

// openIdentity returns the key of the relay over s, which is made at the first start.
func openIdentity(ctx context.Context, dir string, s store.Store) (identity, error) {
	safe, ok := s.(keySafe)
	if !ok {
		return readIdentity(dir)
	}
	draft, err := hex.DecodeString(nostr.GeneratePrivateKey())
	if err != nil {
		return identity{}, fmt.Errorf("relay key: %w", err)
	}
	secret, err := safe.RelayKey(ctx, draft)
	if err != nil {
		return identity{}, fmt.Errorf("relay key: %w", err)
	}
	return newIdentity(hex.EncodeToString(secret))
}

func newIdentity(secret string) (identity, error) {
	public, err := nostr.GetPublicKey(secret)
	if err != nil {
		return identity{}, fmt.Errorf("relay key: %w", err)
	}
	return identity{public: public, secret: secret}, nil
}

// readIdentity returns the key of the relay, which is made at the first start. dir
// must exist.
func readIdentity(dir string) (identity, error) {
	path := filepath.Join(dir, identityFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = makeIdentity(path)
	}
	if err != nil {
		return identity{}, fmt.Errorf("relay key: %w", err)
	}
	secret := strings.TrimSpace(string(data))
	if !nostr.IsValid32ByteHex(secret) {
		return identity{}, fmt.Errorf("relay key: %s does not hold 64 hex digits", path)
	}
	return newIdentity(secret)
}

// makeIdentity writes a new key durably: a relay that has shown a name keeps it.
func makeIdentity(path string) (data []byte, err error) {
	secret := nostr.GeneratePrivateKey()
	return []byte(secret), writeIdentity(path, secret)
}

// writeIdentity writes a key durably, or leaves what was there.
func writeIdentity(path, secret string) error {
	draft := path + ".new"
	f, err := os.OpenFile(draft, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(secret + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(draft, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
