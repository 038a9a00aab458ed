package dapr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"fencepost/lifecycle/fence/kv"
)

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 4 << 20

// Options make a Client. URL and Store must be set.
type Options struct {
	URL     string        // of the sidecar, for example http://127.0.0.1:3500
	Store   string        // name of the state component
	Token   string        // of the sidecar's API, or ""
	Timeout time.Duration // of one call; 5 s
}

// Client is a kv.KV.
type Client struct {
	o    Options
	http *http.Client
}

// New returns a client. It does not connect.
func New(o Options) *Client {
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	return &Client{o: o, http: &http.Client{Timeout: o.Timeout}}
}

// needed are the capabilities without which no fence can be kept.
var needed = [...]string{"ETAG", "TRANSACTIONAL"}

// Missing implements kv.KV.
func (c *Client) Missing(ctx context.Context) (missing []string, err error) {
	body, _, err := c.do(ctx, http.MethodGet, "/v1.0/metadata", nil)
	if err != nil {
		return nil, err
	}
	var metadata struct {
		Components []struct {
			Name         string   `json:"name"`
			Capabilities []string `json:"capabilities"`
		} `json:"components"`
	}
	if err := json.Unmarshal(body, &metadata); err != nil {
		return nil, fmt.Errorf("metadata of the sidecar: %w", err)
	}
	for _, component := range metadata.Components {
		if component.Name != c.o.Store {
			continue
		}
		for _, name := range needed {
			if !slices.Contains(component.Capabilities, name) {
				missing = append(missing, name)
			}
		}
		return missing, nil
	}
	return nil, fmt.Errorf("the sidecar has no component %q", c.o.Store)
}

// Get implements kv.KV.
func (c *Client) Get(ctx context.Context, key string) (value []byte, etag string, err error) {
	body, header, err := c.do(ctx, http.MethodGet, c.state(url.PathEscape(key))+"?consistency=strong", nil)
	if err != nil || len(body) == 0 {
		return nil, "", err
	}
	if etag = header.Get("ETag"); etag == "" {
		return nil, "", errors.New("the sidecar gives no ETag")
	}
	return body, etag, nil
}

// operation is one of a transaction, as Dapr has it.
type operation struct {
	Operation string  `json:"operation"`
	Request   request `json:"request"`
}

type request struct {
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value,omitempty"`
	ETag    string          `json:"etag,omitempty"`
	Options *options        `json:"options,omitempty"`
}

type options struct {
	Concurrency string `json:"concurrency"`
	Consistency string `json:"consistency"`
}

// Transact implements kv.KV. Values are JSON.
func (c *Client) Transact(ctx context.Context, ops []kv.Op) error {
	var all struct {
		Operations []operation `json:"operations"`
	}
	for _, op := range ops {
		o := operation{Operation: "upsert", Request: request{Key: op.Key, Value: op.Value}}
		if op.Value == nil {
			o.Operation = "delete"
		}
		if op.Guard {
			o.Request.ETag = op.ETag
			o.Request.Options = &options{Concurrency: "first-write", Consistency: "strong"}
		}
		all.Operations = append(all.Operations, o)
	}
	body, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("transaction: %w", err)
	}
	_, _, err = c.do(ctx, http.MethodPost, c.state("transaction"), body)
	return err
}

func (c *Client) state(what string) string {
	return "/v1.0/state/" + url.PathEscape(c.o.Store) + "/" + what
}

// do makes one call and returns what it answers with a status of 200 to 299.
func (c *Client) do(ctx context.Context, method, path string, body []byte) ([]byte, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.o.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.o.Token != "" {
		r.Header.Set("dapr-api-token", c.o.Token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, nil, fmt.Errorf("sidecar: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, nil, fmt.Errorf("sidecar: %w", err)
	}
	switch {
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return nil, nil, fmt.Errorf("sidecar: %s %s: status %d: %.200q", method, path, answer.StatusCode, text)
	case len(text) > maxAnswer:
		return nil, nil, fmt.Errorf("sidecar: %s %s: the answer is too long", method, path)
	}
	return text, answer.Header, nil
}
