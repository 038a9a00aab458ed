// Package storm holds the storms against the whole relay in one process, so that
// the race detector sees both sides. It has no code of its own beside the tests,
// which name packages that others in regress must not name.
//
// One is that of regress/race. The other is about permissions: in a town of groups
// admins remove and re-add members and turn groups private and public, users join
// by invite and leave, an operator bans keys, ends memberships and withdraws a kind,
// while publishers write and readers keep, replace and close subscriptions and
// count. Everybody notes what it sent and received at times of one clock.
//
// When it is over the relay's log is read and folded anew, naively, into who was
// allowed what after each control row. A row that was sent after a frame had come
// was not in force for it; one that had been answered with OK before a barrier was
// sent was in force for all that came after the barrier's answer; and a frame of
// position p finds everything below p in force. So each frame has a range of states
// that the relay can have been in. It is a leak when none of them allows it, and,
// for a live frame, when the state at its position does not. Judged as well: a
// subscription of which nothing is left goes on, or one ends that has something
// left; a frame after CLOSED; a live frame that is missing between two others (and
// any, for residents, who are members all the time); COUNTs; keys that authenticate
// while banned; events that stand in the log where their author could not write.
//
// The same storm goes over three replicas that share a PostgreSQL, with actors spread over
// them and some of them farther from it. What one has granted may not be in force on
// another, so the judge then knows that from frames only.
//
// TestStormFindsMistakes puts the relay together with one mistake in it and sees
// the judge find it.
package storm
