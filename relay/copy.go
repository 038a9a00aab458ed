package relay

import (
	"bytes"
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

	"fencepost/relay/config"
	"fencepost/relay/store"
	"fencepost/relay/store/transfer"
)

// Reasons not to copy a store.
var (
	ErrNoStore  = errors.New("there is no store to copy")
	ErrOtherKey = errors.New("the target has a relay key of its own")
	ErrServed   = errors.New("relays run over this database")
)

// Copied is the result of CopyStore.
type Copied struct{ Original, Copy transfer.Sum }

// shared is a store that several processes may have open.
type shared interface {
	// Others returns how many sessions other processes have.
	Others(ctx context.Context) (int, error)
	// Copying returns how far a copy into the store is.
	Copying(ctx context.Context) (store.Copying, error)
}

// CopyStore copies the store that from names, with the relay's own key, into the one
// that to names, and reads both whole to compare them. It goes on with a copy that was
// interrupted, and a copy that is complete is compared only. No relay may run on either
// meanwhile. The errors are those above and those of package transfer; beside
// transfer.ErrDiffers the result says what differs. told is called
// now and then with how far it is.
func CopyStore(ctx context.Context, from, to config.Config, log *slog.Logger, told func(text string)) (done Copied, err error) {
	found, err := HoldsStore(ctx, from)
	if err == nil && !found {
		err = ErrNoStore
	}
	if err != nil {
		return done, fmt.Errorf("original: %w", err)
	}
	original, err := openToCopy(ctx, from, log)
	if err != nil {
		return done, fmt.Errorf("original: %w", err)
	}
	defer func() { err = errors.Join(err, original.close()) }()
	target, err := openToCopy(ctx, to, log)
	if err != nil {
		return done, fmt.Errorf("target: %w", err)
	}
	defer func() { err = errors.Join(err, target.close()) }()
	if err := original.whole(ctx); err != nil {
		return done, fmt.Errorf("original: %w", err)
	}
	if err := copyAll(ctx, original, target, told); err != nil {
		return done, err
	}
	done.Original, done.Copy, err = transfer.Verify(ctx, original, target, func(c transfer.Count) { told("compared " + c.String()) })
	return done, err
}

// copyAll copies the key and what the store holds. The key comes before the end, so that
// no relay over a complete copy makes one. Begin leaves a mark at which relays refuse to
// start, after they have become visible to alone. So a relay that started before the mark
// was there is seen by a second look.
func copyAll(ctx context.Context, from, to *copyable, told func(text string)) error {
	for _, c := range []*copyable{from, to} {
		if err := c.alone(ctx); err != nil {
			return err
		}
	}
	if err := to.mayHave(ctx, from); err != nil {
		return err
	}
	if err := transfer.Begin(ctx, from, to); err != nil {
		return err
	}
	err := to.alone(ctx)
	if err == nil {
		err = to.take(ctx, from)
	}
	if errors.Is(err, ErrServed) || errors.Is(err, ErrOtherKey) { // it has become a relay's
		err = errors.Join(err, transfer.Withdraw(ctx, to))
	}
	if err != nil {
		return err
	}
	return transfer.Copy(ctx, from, to, func(c transfer.Count) { told("copied " + c.String()) })
}

// copyable is a store that is open to be copied, with where the relay's key is.
type copyable struct {
	transfer.Target
	store store.Store
	dir   string // for the key of an embedded one
}

func openToCopy(ctx context.Context, c config.Config, log *slog.Logger) (*copyable, error) {
	s, err := openStore(ctx, c, log, true)
	if err != nil {
		return nil, err
	}
	target, ok := s.(transfer.Target)
	if !ok {
		return nil, errors.Join(errors.New("this kind of store cannot be copied"), s.Close())
	}
	return &copyable{Target: target, store: s, dir: c.Data}, nil
}

func (c *copyable) close() error { return c.store.Close() }

// whole refuses a store that is half a copy itself.
func (c *copyable) whole(ctx context.Context) error {
	kept, err := c.Copying(ctx)
	if err == nil && kept.Token != "" && !kept.Done {
		err = store.ErrCopying
	}
	return err
}

// alone refuses a store over which relays run.
func (c *copyable) alone(ctx context.Context) error {
	s, ok := c.store.(shared)
	if !ok {
		return nil // it has a lock
	}
	n, err := s.Others(ctx)
	if err == nil && n > 0 {
		err = fmt.Errorf("%w, or another command that has it open: %d sessions", ErrServed, n)
	}
	return err
}

// key returns the relay's secret key, hex, or "" when it has none yet.
func (c *copyable) key(ctx context.Context) (string, error) {
	if safe, ok := c.store.(keySafe); ok {
		secret, err := safe.RelayKey(ctx, nil)
		return hex.EncodeToString(secret), err
	}
	data, err := os.ReadFile(filepath.Join(c.dir, identityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	secret := strings.TrimSpace(string(data))
	if err == nil && !nostr.IsValid32ByteHex(secret) {
		err = fmt.Errorf("relay key: %s does not hold 64 hex digits", identityFile)
	}
	return secret, err
}

// mayHave refuses a target with a key that is not the original's.
func (c *copyable) mayHave(ctx context.Context, from *copyable) error {
	theirs, err := from.key(ctx)
	if err != nil {
		return err
	}
	own, err := c.key(ctx)
	if err == nil && own != "" && own != theirs {
		err = ErrOtherKey
	}
	return err
}

// take writes the original's key, where it has one. ErrOtherKey when the target has got
// another one meanwhile.
func (c *copyable) take(ctx context.Context, from *copyable) error {
	theirs, err := from.key(ctx)
	if err != nil {
		return err
	}
	safe, ok := c.store.(keySafe)
	switch {
	case theirs == "":
		return c.mayHave(ctx, from)
	case !ok:
		return writeIdentity(filepath.Join(c.dir, identityFile), theirs)
	}
	draft, err := hex.DecodeString(theirs)
	if err != nil {
		return err
	}
	kept, err := safe.RelayKey(ctx, draft)
	if err == nil && !bytes.Equal(kept, draft) {
		err = ErrOtherKey
	}
	return err
}
