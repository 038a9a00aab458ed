package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// Sessions is the shared index of who is connected where: what each process last
// said of its own connections. It is a cache (R14): it may be lost or late, and
// nothing that protects anybody reads it (R12).
type Sessions interface {
	// Report takes in what a process says of itself. All of it or nothing is taken,
	// and saying it twice is the same as saying it once. fresh says that the index did
	// not know this incarnation: what was said before it is lost. It blocks until the
	// report is taken or ctx ends.
	Report(ctx context.Context, r SessionReport) (fresh bool, err error)

	// OfKeys returns the sessions of these keys as seen at now, the caller's present
	// time: of each key at most max, the open ones first, then the last to end.
	OfKeys(ctx context.Context, now time.Time, keys []string, max int) ([]SessionSeen, error)

	// All returns up to max sessions after a place in the order of node, incarnation,
	// connection and key, and the nodes themselves.
	All(ctx context.Context, now time.Time, after SessionRef, max int) ([]SessionSeen, []NodeSeen, error)
}

// Node is one process: a name that outlives it, and an incarnation that does not.
type Node struct {
	Name        string `json:"node"`
	Incarnation string `json:"incarnation"` // hex, new at each start (R8)
}

// SessionRef names a session: a key that authenticated on a connection.
type SessionRef struct {
	Node
	Conn uint64 `json:"connection"`
	Key  string `json:"pubkey"` // hex
}

// Validate refuses what is no place in the order of sessions.
func (r SessionRef) Validate() error {
	if len(r.Name) > maxNodeName || !isHex(r.Incarnation) || !nostr.IsValid32ByteHex(r.Key) || r.Conn > math.MaxInt64 {
		return errors.New("names no session")
	}
	return nil
}

// SessionReport is what a process says of itself. Its clock does not matter: times
// are told as ages.
type SessionReport struct {
	Node        Node
	Connections int  // open ones, with and without a session
	Stopped     bool // it ends in an orderly way: all its sessions have ended

	Open  []SessionOpen // those that are new or were active since the last report
	Ended []SessionRef  // those that ended; Node is not looked at
}

// SessionOpen is an open session.
type SessionOpen struct {
	Conn uint64
	Key  string          // hex
	Idle time.Duration   // since its last message
	Doc  json.RawMessage // more about it, one JSON object of at most MaxSessionDoc bytes (R13)
}

// MaxSessionDoc bounds the document of a session, in bytes.
const MaxSessionDoc = 1 << 10

// SessionSeen is a session as the index has it, never without its age (R7).
type SessionSeen struct {
	SessionRef
	Ended  bool // its end was reported
	Active time.Time
	Doc    json.RawMessage // as it was reported, fields of other versions included
	NodeState
}

// NodeSeen is a node as the index has it.
type NodeSeen struct {
	Node
	Connections int
	NodeState
}

// NodeState is how fresh is what a node said.
type NodeState struct {
	Observed time.Time     // of the node's last report
	Age      time.Duration // of that report, never negative
	Gone     bool          // it said that it ends, or a later one of its name has reported
}

// Validate refuses a report that no process makes.
func (r *SessionReport) Validate() error {
	if r.Node.Name == "" || len(r.Node.Name) > maxNodeName || !isHex(r.Node.Incarnation) || r.Connections < 0 {
		return errors.New("session report: names no node")
	}
	for i := range r.Open {
		switch o := &r.Open[i]; {
		case !nostr.IsValid32ByteHex(o.Key):
			return fmt.Errorf("session report: %q is not a key", o.Key)
		case len(o.Doc) > MaxSessionDoc:
			return fmt.Errorf("session report: a document of %d bytes", len(o.Doc))
		}
	}
	for i := range r.Ended {
		if !nostr.IsValid32ByteHex(r.Ended[i].Key) {
			return fmt.Errorf("session report: %q is not a key", r.Ended[i].Key)
		}
	}
	return nil
}

// maxNodeName bounds the name of a process, in bytes.
const maxNodeName = 255

func isHex(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) > 0
}
