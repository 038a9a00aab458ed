package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// callCommand makes one HTTP call that is signed as NIP-98 says.
type callCommand struct {
	signer
	Method string `arg:"" help:"GET, POST or another HTTP method."`
	URL    string `arg:"" help:"What is called: http:// or https://, or the relay's ws:// or wss:// URL with a path."`
	Body   string `arg:"" optional:"" help:"JSON that is sent along, as application/json; - is standard input, where no other user of the machine sees it."`
}

// maxBody bounds a body on standard input, in bytes: more than a relay takes.
const maxBody = 16 << 20

// Run prints the body of the answer, whatever its status is. A status that says that
// the call was not done (300 and above: a redirection is not followed) is an error.
func (c *callCommand) Run(ctx context.Context, p *process) error {
	body, err := c.read(p)
	if err != nil {
		return err
	}
	r := signedRequest{method: strings.ToUpper(c.Method), url: c.URL, body: body}
	if len(body) > 0 {
		r.contentType = "application/json"
	}
	answer, err := c.send(ctx, p, r)
	if err != nil {
		return err
	}
	if len(answer.body) > 0 {
		if _, err := fmt.Fprintf(p.stdout, "%s\n", bytes.TrimSuffix(answer.body, []byte("\n"))); err != nil {
			return err
		}
	}
	if answer.code >= http.StatusMultipleChoices {
		return errors.New("the relay answers " + answer.status)
	}
	return nil
}

// read returns the body. It waits for the end of standard input.
func (c *callCommand) read(p *process) ([]byte, error) {
	if c.Body != "-" {
		return []byte(c.Body), nil
	}
	body, err := io.ReadAll(io.LimitReader(p.stdin, maxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the body: %w", err)
	case len(body) > maxBody:
		return nil, fmt.Errorf("the body on standard input is longer than %d bytes", maxBody)
	}
	return body, nil
}
