// Package access is the one place that says who may write, who may read, and who
// may see which event. DESIGN.md beside this file has the why.
//
// A Policy folds control rows, in position order, into who is banned, who is a
// member, what has vanished, which kinds are taken, and, through Groups, the groups
// of NIP-29. The rows are the truth: it is rebuilt from them at every start and is
// the same on every replica. Deleting the event that asked for a change does not
// undo the change. Rules come from the configuration and hold for one process.
//
// Writing: MaySubmit refuses what is hopeless before a signature is checked, Plan
// decides, and returns what is to be committed together with the terms that the
// decision rests on. The store compares these in the commit. A change is in force
// once the follower has applied its row, not before.
//
// Reading: MayRead refuses filters of which all is closed to the reader. What is
// left is narrowed event by event: Visible for the store's queries and counts, Sight
// for every frame, SightOfRemoved for the news that an event is gone. A Sight's grant stops holding when an answer could have turned
// into a no.
//
// Trust has the policy vouch for what is not for everybody only while its state is known
// to be that of the log.
//
// A Cutter applies a row and then ends the subscriptions that have nothing left to
// read, and the connections of who is banned.
//
// Apply is called by one goroutine, in position order. Everything else may be
// called from anywhere. Nothing blocks but Plan, where groups look into the store,
// and the functions of Visible and Sight as long as Outside takes; no lock is held
// then.
package access
