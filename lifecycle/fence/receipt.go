package fence

import "time"

// View is a fence as an engine sees it.
type View struct {
	State
	Now     time.Time // of the clock that judges the lease
	Pending int       // frames that are admitted and not delivered; always 0 of a native engine
}

// Receipt is what became of a frame that its fence did not refuse.
type Receipt struct {
	Refused   bool   // it may not be written; Reason says why
	Duplicate bool   // the relay had it already, at Position; it took no number
	Position  uint64 // in the log; 0 where nothing was stored
	Epoch     uint64 // of the fence
	Number    uint64 // in the stream; 0 for none, or where the engine cannot tell
	Reason    string // as NIP-01 has it, or ""
}
