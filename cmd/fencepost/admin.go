package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// adminCommand calls one method of a relay's management API (NIP-86).
type adminCommand struct {
	signer
	URL    string   `arg:"" help:"The relay: ws://, wss://, http:// or https://."`
	Method string   `arg:"" help:"A method of NIP-86; supportedmethods lists them. dead-letters list and dead-letters requeue POSITION are about events that could not be delivered."`
	Params []string `arg:"" optional:"" help:"Its parameters: numbers, an npub, text, or JSON."`
}

// Run signs the call (NIP-98), posts it and prints the result: text as it is, the
// elements of a list one a line, anything else as JSON.
func (c *adminCommand) Run(ctx context.Context, p *process) error {
	method, words, err := c.spoken()
	if err != nil {
		return err
	}
	params := make([]any, len(words))
	for i, s := range words {
		params[i] = param(s)
	}
	body, err := json.Marshal(map[string]any{"method": method, "params": params})
	if err != nil {
		return fmt.Errorf("%s: %w", c.Method, err)
	}
	r := signedRequest{method: http.MethodPost, url: c.URL, contentType: "application/nostr+json+rpc", body: body}
	answer, err := c.send(ctx, p, r)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Method, err)
	}
	result, err := readAnswer(answer.status, answer.body)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Method, err)
	}
	return printResult(p.stdout, result)
}

// spoken returns the method that is called and its parameters: dead-letters is short
// for two of them.
func (c *adminCommand) spoken() (method string, params []string, err error) {
	if c.Method != "dead-letters" {
		return c.Method, c.Params, nil
	}
	switch {
	case len(c.Params) == 1 && c.Params[0] == "list":
		return "listdeadletters", nil, nil
	case len(c.Params) == 2 && c.Params[0] == "requeue":
		return "requeuedeadletter", c.Params[1:], nil
	default:
		return "", nil, errors.New("dead-letters is followed by list, or by requeue and a position")
	}
}

// param returns what an argument stands for: a number of up to ten digits and what
// is JSON in quotes, brackets or braces is itself, an npub a public key, anything
// else text. Ten digits, because keys and ids may happen to have no letter.
func param(s string) any {
	const numbers, structures = "-0123456789", `"[{`
	isNumber := s != "" && len(s) <= 10 && strings.Trim(s, numbers) == ""
	if (isNumber || s != "" && strings.Contains(structures, s[:1])) && json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return publicKey(s)
}

// readAnswer returns the result in an answer, or its error.
func readAnswer(status string, data []byte) (json.RawMessage, error) {
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  string          `json:"error"`
	}
	err := json.Unmarshal(data, &answer)
	switch {
	case err == nil && answer.Error != "":
		return nil, errors.New(answer.Error)
	case !strings.HasPrefix(status, "200 "):
		return nil, fmt.Errorf("the relay answers %s", status)
	case err != nil:
		return nil, errors.New("the answer is not that of a relay with a management API")
	}
	return answer.Result, nil
}

func printResult(w io.Writer, result json.RawMessage) error {
	var list []json.RawMessage
	if err := json.Unmarshal(result, &list); err != nil {
		list = []json.RawMessage{result}
	}
	for _, item := range list {
		var text string
		if err := json.Unmarshal(item, &text); err != nil || string(item) == "null" {
			var flat bytes.Buffer
			if err := json.Compact(&flat, item); err != nil {
				return fmt.Errorf("print the result: %w", err)
			}
			text = flat.String()
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}
