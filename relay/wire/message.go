package wire

// Message is one decoded client message: *EventMessage, *ReqMessage,
// *CountMessage, *ChangesMessage, *CloseMessage, *AuthMessage, *NegOpenMessage,
// *NegMsgMessage or *NegCloseMessage.
type Message interface{ verb() string }

type (
	// EventMessage is ["EVENT", event]. Neither id nor signature is checked yet.
	EventMessage struct{ Event *Event }
	// ReqMessage is ["REQ", id, filter, ...] with at least one filter. No two of
	// them are equal: of those that ask for the same, the first is kept.
	ReqMessage struct {
		ID      string
		Filters []*Filter
	}
	// CountMessage is ["COUNT", id, filter, ...] (NIP-45), with filters as in a ReqMessage.
	CountMessage struct {
		ID      string
		Filters []*Filter
	}
	// CloseMessage is ["CLOSE", id].
	CloseMessage struct{ ID string }
	// AuthMessage is ["AUTH", event] (NIP-42). Nothing of the event is checked yet.
	AuthMessage struct{ Event *Event }
)

func (*EventMessage) verb() string { return "EVENT" }
func (*ReqMessage) verb() string   { return "REQ" }
func (*CountMessage) verb() string { return "COUNT" }
func (*CloseMessage) verb() string { return "CLOSE" }
func (*AuthMessage) verb() string  { return "AUTH" }

// Error is a message that could not be decoded, with what could be read of it,
// so that the refusal reaches the client under the right name: OK false for
// EventID, CLOSED for Sub, NOTICE when neither is set.
type Error struct {
	Reason  Reason
	Verb    string // "" when not even the verb could be read
	Sub     string // subscription id as sent, when HasSub; one over MaxSubID is cut there and ends in "…"
	HasSub  bool   // a subscription id could be read, even one that is empty or too long
	EventID string // event id as sent, "" when none could be read
}

func (e *Error) Error() string { return e.Reason.String() }
