package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// callCommand makes one HTTP call that is signed as NIP-98 says.
type callCommand struct {
	signer
	Method string `arg:"" help:"GET, POST or another HTTP method."`
	URL    string `arg:"" help:"What is called: http:// or https://, or the relay's ws:// or wss:// URL with a path."`
	Body   string `arg:"" optional:"" help:"JSON that is sent along, as application/json."`
}

// Run prints the body of the answer, whatever its status is. A status that says that
// the call was not done (300 and above: a redirection is not followed) is an error.
func (c *callCommand) Run(ctx context.Context, p *process) error {
	r := signedRequest{method: strings.ToUpper(c.Method), url: c.URL}
	if c.Body != "" {
		r.body, r.contentType = []byte(c.Body), "application/json"
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
