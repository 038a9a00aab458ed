package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"fencepost/relay/client"
	"fencepost/relay/web/nip98"
)

// maxResult bounds what is read of an answer, in bytes.
const maxResult = 64 << 20

// signedRequest is an HTTP request that is signed as NIP-98 says.
type signedRequest struct {
	method, url string // for send: url as httpURL returns it
	contentType string // "" without a body
	body        []byte
}

// signedAnswer is what came back.
type signedAnswer struct {
	code   int
	status string // the code and its name
	body   []byte
}

// send signs with key and sends. A relay that is just being started is given a moment.
// An answer of any status is none of its errors.
func (r signedRequest) send(ctx context.Context, key string) (signedAnswer, error) {
	// A token is for one URL, so a redirection is not followed.
	caller := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer caller.CloseIdleConnections()
	var answer *http.Response
	// What may have been done is not sent again.
	err := onceListening(ctx, refused, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
		if err != nil {
			return err
		}
		if r.contentType != "" {
			request.Header.Set("Content-Type", r.contentType)
		}
		// A relay that has just started takes no token of this second.
		authorization, err := nip98.Header(key, r.method, r.url, r.body, time.Now().Add(time.Second))
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", authorization)
		if answer, err = caller.Do(request); err != nil {
			return &client.Unreachable{URL: r.url, Err: err}
		}
		return nil
	})
	if err != nil {
		return signedAnswer{}, err
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxResult))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return signedAnswer{}, fmt.Errorf("read the answer: %w", err)
	}
	return signedAnswer{code: answer.StatusCode, status: answer.Status, body: data}, nil
}

// httpURL returns where a relay at a WebSocket URL is called by HTTP: the same place.
func httpURL(address string) (string, error) {
	u, err := url.Parse(address)
	if err == nil {
		switch u.Scheme {
		case "ws":
			u.Scheme = "http"
		case "wss":
			u.Scheme = "https"
		case "http", "https":
		default:
			err = errors.New("unknown scheme")
		}
	}
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("%q is not a ws://, wss://, http:// or https:// URL", address)
	}
	u.Fragment = "" // is not sent
	return u.String(), nil
}
