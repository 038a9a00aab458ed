package group

// Kinds of NIP-29.
const (
	kindPutUser      = 9000
	kindRemoveUser   = 9001
	kindEditMetadata = 9002
	kindDeleteEvent  = 9005
	kindCreateGroup  = 9007
	kindDeleteGroup  = 9008
	kindCreateInvite = 9009
	kindPin          = 9010
	lastModeration   = 9020
	kindJoin         = 9021
	kindLeave        = 9022

	kindMetadata = 39000
	kindAdmins   = 39001
	kindMembers  = 39002
	kindRoles    = 39003
	kindPins     = 39005
	lastState    = 39009

	kindDeletion = 5 // NIP-09
)

// isRequest reports whether kind asks for a change of a group.
func isRequest(kind int) bool { return kind >= kindPutUser && kind <= kindLeave }

// isState reports whether kind tells of the state of a group, which the relay
// alone does.
func isState(kind int) bool { return kind >= kindMetadata && kind <= lastState }
