package fence

// Code is the class of a refusal, named as in gRPC.
type Code string

// The refusals.
const (
	Aborted            Code = "ABORTED"             // another owner was faster; look and try again
	FailedPrecondition Code = "FAILED_PRECONDITION" // the same call fails again until something else changes
	ResourceExhausted  Code = "RESOURCE_EXHAUSTED"  // there is no room; later there may be
)

// Error is a refusal. It may be shown: it names nobody's token.
type Error struct {
	Code  Code
	Text  string
	Epoch uint64 // the present one of the fence, 0 for an absent one or where it is not known
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Text }

func (s *State) refuse(code Code, text string) error {
	return &Error{Code: code, Text: text, Epoch: s.Epoch}
}
