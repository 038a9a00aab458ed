package wire

// Decode reads one client message. An error is always an *Error.
func Decode(data []byte) (Message, error) { return nil, &Error{Reason: Because(Failed, "not built")} }

// DecodeEvent reads one JSON object as an event, strictly, and makes its wire
// form. It checks neither id nor signature. An error is always an *Error.
func DecodeEvent(data []byte) (*Event, error) {
	return nil, &Error{Reason: Because(Failed, "not built")}
}

// DecodeFilter reads one JSON object as a filter, strictly.
func DecodeFilter(data []byte) (*Filter, error) {
	return nil, &Error{Reason: Because(Failed, "not built")}
}
