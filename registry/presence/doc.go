// Package presence says of a key whether it is online, derived at the moment of
// reading from the session index: there is no second table that could disagree with
// it (R11).
//
//	Online   a session is open, its node reports, and its client was active lately
//	Idle     the same, but the client was quiet for Windows.Idle or longer
//	Stale    nobody can say: the node that had the session stopped reporting
//	Offline  all sessions ended, and who had them said so
//	Unknown  the index knows nothing of the key
//
// Offline comes from reported ends alone (R9): a node that was killed, or that is cut
// off from the index, makes its users Stale, and Online again when it reports again.
// An end that was reported by a node which has been silent since is Stale as well: the
// user may have come back to it.
//
// Every answer has its time and its age. Nothing that protects anybody may rest on
// it (R12).
package presence
