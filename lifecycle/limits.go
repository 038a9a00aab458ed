package lifecycle

import (
	"net/netip"
	"time"
)

// Limits bound what one connection may hold. All must be positive.
type Limits struct {
	QueueFrames   int           // frames in the outbound queue, reserved ones included
	QueueBytes    int           // their bytes
	HoldFrames    int           // live frames kept while a subscription replays
	HoldBytes     int           // their bytes
	Subscriptions int           // generations that are not retired
	Weight        int           // wire.Weight of their filters and of running COUNTs
	Queries       int           // stored queries that run at once
	Pending       int           // events read and not yet answered
	PendingBytes  int           // their bytes
	RoomTimeout   time.Duration // how long stored events may wait for room
}

// Peer is who is at the other end, as far as the transport knows.
type Peer struct {
	Addr netip.Addr // behind trusted proxies: the address they vouch for
	URL  string     // the URL the client connected to, as far as it can be told
}

const (
	// maxReason is the longest text of a CLOSED frame, in bytes before escaping.
	maxReason = 200
	// maxCharged is how many COUNTs of a connection wait or run.
	maxCharged = 64
	// answerBytes is reserved for the answer to one EVENT, AUTH or COUNT.
	answerBytes = 1024
)
