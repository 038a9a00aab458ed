package manage

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// maxReason is how long a reason may be, in characters.
const maxReason = 1000

// args reads the parameters of one call, in order. The first that is wrong is
// kept; what is read after it is worthless.
type args struct {
	method string
	left   []json.RawMessage
	n      int // how many were read
	err    error
}

// next decodes one parameter into v. An optional one may be missing or null.
func (a *args) next(v any, optional bool, what string) (there bool) {
	a.n++
	if a.err != nil {
		return false
	}
	if len(a.left) == 0 || string(a.left[0]) == "null" {
		a.left = a.left[min(1, len(a.left)):]
		if !optional {
			a.wrong(what)
		}
		return false
	}
	raw := a.left[0]
	a.left = a.left[1:]
	if err := json.Unmarshal(raw, v); err != nil {
		a.wrong(what)
		return false
	}
	return true
}

func (a *args) wrong(what string) {
	if a.err == nil {
		a.err = wire.Because(wire.Invalid, fmt.Sprintf("parameter %d must be %s", a.n, what))
	}
}

// end refuses what is left over.
func (a *args) end() error {
	if a.err == nil && len(a.left) > 0 {
		a.err = wire.Because(wire.Invalid, fmt.Sprintf("the method has at most %d parameters", a.n))
	}
	return a.err
}

func (a *args) key() (key string) {
	const what = "a public key, 64 characters of lower-case hex"
	if a.next(&key, false, what) && !nostr.IsValidPublicKey(key) {
		a.wrong(what)
	}
	return key
}

func (a *args) id() (id string) {
	const what = "an event id, 64 characters of lower-case hex"
	if a.next(&id, false, what) && !nostr.IsValid32ByteHex(id) {
		a.wrong(what)
	}
	return id
}

func (a *args) kind() (kind int) {
	const what = "a kind, a number from 0 to 65535"
	if a.next(&kind, false, what) && (kind < 0 || kind > 65535) {
		a.wrong(what)
	}
	return kind
}

// address returns what access takes for an address or a network.
func (a *args) address() (address string) {
	a.next(&address, false, `an IP address or a network such as "10.0.0.0/8"`)
	return address
}

func (a *args) reason() (reason string) {
	const what = "a reason of at most 1,000 characters"
	if a.next(&reason, true, what) && utf8.RuneCountInString(reason) > maxReason {
		a.wrong(what)
	}
	return reason
}

// number returns a number, or usual when it is left out.
func (a *args) number(most, usual int) (n int) {
	what := fmt.Sprintf("a number from 0 to %d", most)
	switch there := a.next(&n, true, what); {
	case !there:
		return usual
	case n < 0 || n > most:
		a.wrong(what)
	}
	return n
}

// position returns a place in the log, a number that may stand in quotes.
func (a *args) position() store.Position {
	const what = "a position, a number from 1"
	var raw json.RawMessage
	if !a.next(&raw, false, what) {
		return 0
	}
	n, err := strconv.ParseUint(strings.Trim(string(raw), `"`), 10, 63)
	if err != nil || n == 0 {
		a.wrong(what)
	}
	return store.Position(n)
}

func (a *args) claim() (claim string) {
	a.next(&claim, false, "a claim")
	return claim
}
