package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"fencepost/relay/config"
	"fencepost/relay/web/reply"
	"fencepost/relay/wire"
)

const (
	rpcType = "application/nostr+json+rpc"
	// maxCall bounds the body of a call, in bytes.
	maxCall = 64 << 10
)

// Manager carries out the methods of the management API (NIP-86).
type Manager interface {
	// Call returns what becomes the JSON of the result. A wire.Reason says why a
	// method was not carried out; any other error is internal and is not shown. It
	// blocks until what the method changes is in force.
	Call(ctx context.Context, method string, params []json.RawMessage) (result any, err error)
}

// call is the body of a request, answer that of its answer.
type call struct {
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

type answer struct {
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// isCall reports whether r goes to the management API.
func (s *server) isCall(r *http.Request) bool {
	return s.Manager != nil && r.Method == http.MethodPost && isEndpoint(r, s.Config())
}

// serveManagement answers one call of the operator. What stands before the method
// itself has an HTTP status of its own; from there on it is 200.
func (s *server) serveManagement(w http.ResponseWriter, r *http.Request, c config.Config) {
	w.Header().Set("Cache-Control", "no-store")
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != rpcType {
		reply.Because(w, http.StatusUnsupportedMediaType, wire.Unsupported, "the Content-Type of a call is "+rpcType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCall))
	if err != nil {
		refuseBody(w, err)
		return
	}
	if _, err := s.Verifier.Verify(r, body, isOperator(c)); err != nil {
		reply.Unverified(w, err)
		return
	}
	var ask call
	if err := decodeCall(body, &ask); err != nil {
		reply.Because(w, http.StatusBadRequest, wire.Invalid, `a call is {"method": "...", "params": [...]}`)
		return
	}
	result, err := s.Manager.Call(r.Context(), ask.Method, ask.Params)
	if err != nil {
		s.refuseCall(w, ask.Method, err)
		return
	}
	reply.As(w, http.StatusOK, rpcType, answer{Result: result})
}

// isOperator lets in nobody but the operator.
func isOperator(c config.Config) func(string) error {
	return func(pubkey string) error {
		if c.Relay.PubKey == "" {
			return errors.New("this relay has no operator")
		}
		if pubkey != c.Relay.PubKey {
			return errors.New("only the operator of this relay may manage it")
		}
		return nil
	}
}

// decodeCall reads one JSON object and nothing behind it.
func decodeCall(body []byte, ask *call) error {
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(ask); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	if ask.Method == "" {
		return errors.New("no method")
	}
	return nil
}

func refuseBody(w http.ResponseWriter, err error) {
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		reply.Because(w, http.StatusRequestEntityTooLarge, wire.Invalid, "a call has at most 64 KiB")
		return
	}
	reply.Because(w, http.StatusBadRequest, wire.Invalid, "the body could not be read")
}

func (s *server) refuseCall(w http.ResponseWriter, method string, err error) {
	var reason wire.Reason
	if !errors.As(err, &reason) {
		s.Logger.Error("management call failed", "method", method, "err", err)
		reason = wire.Because(wire.Failed, "could not carry out the method")
	}
	reply.As(w, http.StatusOK, rpcType, answer{Error: reason.String()})
}
