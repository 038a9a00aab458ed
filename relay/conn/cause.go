package conn

import (
	"errors"
	"os"
	"strings"

	"fencepost/lifecycle"
)

// Close codes of RFC 6455 section 7.4.1.
const (
	codeNormal      = 1000
	codeGoingAway   = 1001
	codeProtocol    = 1002
	codeUnsupported = 1003
	codeNoStatus    = 1005 // never sent
	codeLost        = 1006 // never sent
	codeInvalid     = 1007
	codePolicy      = 1008
	codeTooBig      = 1009
	codeInternal    = 1011
)

// Causes that begin here. Those with codeLost are not told to the client, which
// does not listen.
var (
	causeLost     = lifecycle.Cause{Code: codeLost, Text: "connection lost"}
	causeSlow     = lifecycle.Cause{Code: codeLost, Text: "client does not read"}
	causeDead     = lifecycle.Cause{Code: codeLost, Text: "no answer to a ping"}
	causeUTF8     = lifecycle.Cause{Code: codeInvalid, Text: "text is not valid UTF-8"}
	causeReason   = lifecycle.Cause{Code: codeInvalid, Text: "reason is not valid UTF-8"}
	causeBinary   = lifecycle.Cause{Code: codeUnsupported, Text: "only text messages are understood"}
	causeTooBig   = lifecycle.Cause{Code: codeTooBig, Text: "message is too big"}
	causeInflate  = lifecycle.Cause{Code: codeInvalid, Text: "compressed data is corrupt"}
	causeProtocol = lifecycle.Cause{Code: codeProtocol, Text: "protocol error"}
	causePanic    = lifecycle.Cause{Code: codeInternal, Text: "internal error"}
	causeClient   = lifecycle.Cause{Code: codeNormal, Text: "closed by the client"} // with the client's code, if it gave one
	causeBlocked  = lifecycle.Cause{Code: codePolicy, Text: "blocked: this address is banned"}
	causeDrain    = lifecycle.Cause{Code: codeGoingAway, Text: "the relay is shutting down"}
)

// EndError is returned by Socket.Read when the client ended the connection or
// broke the protocol. Cause is what the relay answers.
type EndError struct {
	Cause lifecycle.Cause
	Err   error // for the log; may be nil
}

func (e *EndError) Error() string {
	if e.Err == nil {
		return e.Cause.Text
	}
	return e.Cause.Text + ": " + e.Err.Error()
}

func (e *EndError) Unwrap() error { return e.Err }

// readCause returns why a connection ends whose Read returned err.
func readCause(err error) lifecycle.Cause {
	var end *EndError
	if errors.As(err, &end) {
		return end.Cause
	}
	return causeLost
}

// writeCause returns why a connection ends whose Write returned err.
func writeCause(err error) lifecycle.Cause {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return causeSlow
	}
	return causeLost
}

// reasonOf returns the metric label for cause; there are few.
func reasonOf(cause lifecycle.Cause) string {
	switch cause {
	case causeSlow:
		return "slow"
	case causeDead:
		return "dead"
	case causePanic:
		return "panic"
	}
	if cause.Text == causeClient.Text {
		return "client"
	}
	switch cause.Code {
	case 0, codeNormal:
		return "normal"
	case codeGoingAway:
		return "going_away"
	case codeProtocol:
		return "protocol"
	case codeUnsupported:
		return "unsupported"
	case codeLost:
		return "lost"
	case codeInvalid:
		return "invalid"
	case codePolicy:
		return "policy"
	case codeTooBig:
		return "too_big"
	case codeInternal:
		return "internal"
	}
	return "other"
}

// closeFrame returns what the close frame for cause says; ok is false when none
// is to be sent.
func closeFrame(cause lifecycle.Cause) (code int, text string, ok bool) {
	const maxText = 123 // RFC 6455 section 5.5: 125 bytes less the code
	code, text = cause.Code, cause.Text
	if code == 0 {
		code = codeNormal
	}
	if code == codeNoStatus || code == codeLost {
		return 0, "", false
	}
	if len(text) > maxText {
		text = text[:maxText]
	}
	return code, strings.ToValidUTF8(text, ""), true
}
