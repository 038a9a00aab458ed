package storm_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"fencepost/relay/wire"
)

// never is the time of what has not happened.
const never = math.MaxUint64

// request is something that an actor has asked for and that changes permissions,
// at times of the storm's own clock.
type request struct {
	sent    uint64 // before it was sent
	granted uint64 // after the relay had said yes
}

// ledger is what the actors of a storm tell each other and, afterwards, the judge.
type ledger struct {
	clock atomic.Uint64

	mu       sync.Mutex // guards the fields below
	requests map[string]*request
	recent   []string          // ids of events that were published in groups, the newest last
	codes    map[string]string // group -> an invite code that was good a moment ago
	accepted map[string]uint64 // id of an event in a group -> when its OK had come
	refused  map[string]int    // what refused publishers were told -> how often
}

func newLedger() *ledger {
	return &ledger{
		requests: map[string]*request{}, codes: map[string]string{}, accepted: map[string]uint64{}, refused: map[string]int{},
	}
}

// now returns a time that no other caller gets.
func (l *ledger) now() uint64 { return l.clock.Add(1) }

// asks notes that a request is about to be sent. token is the event's id, or what
// finds the control row of one that is no event.
func (l *ledger) asks(token string) {
	at := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[token] = &request{sent: at, granted: never}
}

// grants notes that the relay has said yes.
func (l *ledger) grants(token string) {
	at := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[token].granted = at
}

// accepts notes that an event in a group was answered with OK true.
func (l *ledger) accepts(e *wire.Event) {
	const kept = 200
	at := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepted[e.ID] = at
	if l.recent = append(l.recent, e.ID); len(l.recent) > kept {
		l.recent = l.recent[1:]
	}
}

// some draws ids of events that were accepted, none before there are any.
func (l *ledger) some(random *rand.Rand, n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.recent) == 0 {
		return nil
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = l.recent[random.IntN(len(l.recent))]
	}
	return ids
}

func (l *ledger) putCode(group, code string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.codes[group] = code
}

func (l *ledger) code(group string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.codes[group]
}

func (l *ledger) refuses(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[text]++
}
