// Package group has the groups of the relay (NIP-29): who is in them, who may
// write and read what, and what follows from a request.
//
// # State
//
// A Book is a fold over control rows in position order (Apply): the same rows give
// the same Book, on every replica and after every start. Requests (kinds 9000 to
// 9022) change nothing by themselves, so deleting one changes nothing either. Plan
// turns an allowed request into the Effect that is committed with it: rows, events
// signed by the relay (39000, 39001, 39003, 39005; 9000 and 9001 for those who
// join and leave), events to remove. Exactly one 39000 goes with each change of
// the metadata, later than the one before.
//
// # What decisions rest on
//
// A row that takes something away, changes roles or makes a rule names the scope
// "g:" + id; the removal of a member without a privileged role only
// "g:" + id + "/" + key, so that strangers who come and go disturb nobody else. A join,
// a new member without roles and an invitation name none. Every decision has both
// scopes of its author among its Terms, and so of two that do not go together the
// second is planned again. What it rests on besides:
//
//	any event         rules of the group, its author's membership: both scopes
//	9000              who of its targets is a member: the scopes of all targets
//	9000, 9001, 9022  the last admin, who is privileged: "g:" + id
//	9001              moderators remove plain members: whoever gets a role names "g:" + id
//	9021              no role to lose (9000 with a role names "g:" + id), codes, not
//	                  barred (9001 names the author's scope)
//	9022              still a member, still plain or still privileged: both scopes
//	9007, 9002        the chain from the parent to its root, the author's membership above
//	9008              the children: their scopes, and a new child names "g:" + id
//	9005, 9010        the pins: "g:" + id
//
// So a row fits the groups as they are when it is applied (else ErrRow, and no relay
// starts): a group is created once, since both creations rest on "g:" + id, and
// nothing follows its deletion, which names that.
//
// MaxGroups, MaxPerKey, MaxMembers and the bound on codes are no part of that: they can
// be passed by as many requests as are planned at once. A request to vanish
// names no group: a decision of another admin may rest on one who vanishes, and the
// group is then without admin, as if it had come first.
//
// A group remembers whom it has removed, some 150 bytes for each, as long as it lives.
//
// Who decides reads the epochs first (Terms, or the grant of Sight's scopes) and
// asks for the answer second; Apply changes the state first and moves the scopes
// second.
//
// # Who may do what
//
// Requests are judged by their author. The operator and the relay's own key may do
// what an admin may, and are not members by that: they moderate without reading.
//
//	9007 create        anyone, or the operator (Rules.Create); an id is used once
//	9000 put           admin; roles replace those there were
//	9001 remove        admin: anybody; moderator: members without these two roles;
//	                   who was removed cannot join until it is put again
//	9002 edit          admin
//	9005 delete event  admin, moderator; invitations end, pins go
//	9008 delete group  admin; children become roots
//	9009 invite        admin, moderator; codes serve any number of members
//	9010 pin           admin, moderator; the list is replaced
//	9021 join          anybody, when closed with a code
//	9022 leave         members, the last admin too
//
// Other kinds up to 9020 are unsupported. Only the operator, and the last admin
// itself by 9022, can leave a group without an admin.
//
// A request with a name and any other field of the metadata gives all of it: what
// it lacks is dropped. Any other request changes just what it gives. In neither
// case do private, restricted, hidden and closed change unless they, or public,
// unrestricted, visible and open, are said: a client that forgets one must not
// open a group. child tags and closed-children are one field.
//
// A parent that the relay does not have makes a group a root. A group is placed
// under another one when that lists it as child or when the author is an admin
// there; with closed-children only when it is listed. The author becomes the
// third element of the parent tag, and one who is no admin of the parent and only
// repeats it does not replace who was there.
//
// An event with the h tag of a group is refused when it has a second one, when it
// is older than Rules.MaxAge, of a kind that the group does not support, or refers
// to what is not in the group; in a restricted or hidden group when its author is no member.
// An h tag that is no group's is an ordinary tag.
//
// # Who may see what
//
// Events of a private group: members. 9002 and 9007 of a hidden one, which tell the
// metadata: members, and so from the one on that hides the group or makes it
// private, although it stands in the log before the row that does. 9009 and 9021, which carry codes: their
// author, admins and moderators (and members only, when it is private). 39000,
// 39001 and 39003: everybody, of a hidden group members; 39002, 39005 and the
// rest: of a hidden or private group members. Nothing of a deleted group is seen
// by anybody. To somebody who is not a member a hidden group is not there: REQs
// are not refused, and requests are answered as for an unknown group, before anything
// that tells one from the other; only a join that the group grants is granted. Two
// things cannot be kept: whoever names its id in a post learns that there is or was
// such a group, because to accept it would put it there, and so does whoever wants
// to create a group with that id. Each gets one answer, whatever the group is like.
// References of an event to earlier ones (previous) are looked up for those only who
// may read them.
//
// With Rules.Create "none" nothing is created and requests are ordinary events.
// Groups that exist keep what they hide, and refuse what is published in them.
//
// # Locks
//
// One lock for the book's maps, one a group, never two at once, never held while
// something blocks. Reading takes read locks. No goroutine is started: Scribe.Run
// is one, of its caller's.
package group
