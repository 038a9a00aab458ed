package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/nbd-wtf/go-nostr"
)

// keyCommand has the commands about secret keys.
type keyCommand struct {
	New  keyNewCommand  `cmd:"" help:"Make a secret key, write it to a new file and print its public key."`
	Show keyShowCommand `cmd:"" help:"Print the public key of a secret key, in hex."`
}

type keyNewCommand struct {
	File string `arg:"" help:"The file. It must not exist."`
}

// Run never replaces a file: a lost key cannot be made again.
func (c *keyNewCommand) Run(p *process) error {
	secret := nostr.GeneratePrivateKey()
	f, err := os.OpenFile(c.File, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	_, err = f.WriteString(secret + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	return printPublic(p, secret)
}

type keyShowCommand struct{ keyFlag }

func (c *keyShowCommand) Run(p *process) error {
	secret, err := c.secret(p, true)
	if err != nil {
		return err
	}
	return printPublic(p, secret)
}

func printPublic(p *process, secret string) error {
	public, err := nostr.GetPublicKey(secret)
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	_, err = fmt.Fprintln(p.stdout, public)
	return err
}
