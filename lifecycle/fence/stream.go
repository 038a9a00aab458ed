package fence

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"
)

// Limits of what a client may say.
const (
	MaxName  = 64  // bytes of a stream's name
	MinToken = 16  // bytes of a token
	MaxToken = 128 // bytes of a token
	MinLease = time.Second
	MaxLease = time.Hour
)

// Stream names a sequence of frames.
type Stream struct {
	Owner string // the public key that it belongs to, lower-case hex
	Name  string // see ValidName
}

var errStream = errors.New("names no stream")

// Validate returns an error for what names no stream.
func (s Stream) Validate() error {
	key, err := hex.DecodeString(s.Owner)
	if err != nil || len(key) != 32 || !ValidName(s.Name) {
		return errStream
	}
	return nil
}

// ValidName reports whether name is 1 to MaxName characters out of a-z, A-Z, 0-9, "-",
// "_" and ".", of which "." and ".." are none: it is one segment of a URL, as it is.
func ValidName(name string) bool {
	if len(name) == 0 || len(name) > MaxName || name == "." || name == ".." {
		return false
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// Token is SHA-256 of the secret by which an owner is known. The zero Token is none.
type Token [32]byte

// TokenOf returns the token of a secret; that of "" is none.
func TokenOf(secret string) Token {
	if secret == "" {
		return Token{}
	}
	return sha256.Sum256([]byte(secret))
}
