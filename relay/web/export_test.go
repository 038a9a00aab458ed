package web

// WantsDocument is the decision over Accept headers.
func WantsDocument(accept ...string) bool { return wantsDocument(accept) }
