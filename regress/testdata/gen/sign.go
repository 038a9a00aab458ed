package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/wire"
)

// author is one key pair.
type author struct {
	secret *btcec.PrivateKey
	pubkey string
}

func newAuthor(n int) author {
	seed := sha256.Sum256(fmt.Appendf(nil, "fencepost test author %d", n))
	secret, public := btcec.PrivKeyFromBytes(seed[:])
	return author{secret: secret, pubkey: hex.EncodeToString(schnorr.SerializePubKey(public))}
}

// sign finishes an event. go-nostr's own Sign draws a random nonce in one of its
// builds; this one gives the same signature each time.
func (a author) sign(e nostr.Event) (*wire.Event, error) {
	e.PubKey = a.pubkey
	hash := sha256.Sum256(e.Serialize())
	signature, err := schnorr.Sign(a.secret, hash[:])
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	e.ID, e.Sig = hex.EncodeToString(hash[:]), hex.EncodeToString(signature.Serialize())
	out := wire.NewEvent(e)
	if err := out.Verify(); err != nil {
		return nil, fmt.Errorf("event of kind %d: %w", e.Kind, err)
	}
	return out, nil
}
