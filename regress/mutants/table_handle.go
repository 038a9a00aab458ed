package mutants

// handleMutants remove what one generation checks about itself.
var handleMutants = []Mutant{
	{
		Name: "deliver-to-retired", Promise: "G1", Says: "A live frame enters the hold of a generation that is over.",
		Edit:   Edit{"lifecycle/handle.go", "if h.state == retired { // race: fanout", "if false { // race: fanout"},
		Suites: in("lifecycle", "TestReleaseDropsWhatIsQueuedAndWhatComesLater", "TestReserveRetiresThePredecessorInTheSameStep"),
	},
	{
		Name: "deliver-to-retired-and-written", Promise: "G1", Says: "A live frame of a closed generation reaches the client.",
		Edit: Edit{"lifecycle/handle.go", "if h.state == retired { // race: fanout", "if false { // race: fanout"},
		And: []Edit{
			{"lifecycle/handle.go", "if h.state != live {\n\t\th.holdLocked", "if h.state < live {\n\t\th.holdLocked"},
			{"lifecycle/queue.go", "return f.handle.state != retired", "return true"},
		},
		Suites: also(in("lifecycle", "TestReleaseDropsWhatIsQueuedAndWhatComesLater"), "TestCloseDuringFanoutSendsNothing", "TestReplacementDuringFanoutSendsNothingOfTheOlder"),
	},
	{
		Name: "retired-frames-written", Promise: "G1", Says: "What was queued before CLOSE or a newer REQ is written after it.",
		Edit:   Edit{"lifecycle/queue.go", "return f.handle.state != retired", "return true"},
		Suites: also(in("lifecycle", "TestReleaseDropsWhatIsQueuedAndWhatComesLater", "TestEvictDropsQueuedFramesAndKeepsClosed"), "TestCloseDropsWhatIsQueuedAndNotTaken", "TestReplacementAfterFanoutDropsWhatIsQueued"),
	},
	{
		Name: "muted-closed-written", Promise: "G3", Says: "A CLOSED of an older generation is written after a newer REQ was read.",
		Edit:   Edit{"lifecycle/queue.go", "return f.handle.closing", "return true"},
		Suites: in("lifecycle", "TestNewerRequestMutesTheQueuedClosedOfAnOlderOne", "TestCloseMutesTheQueuedClosed"),
	},
	{
		Name: "floor-not-checked", Promise: "G6", Says: "An event that is stored at or below A comes live as well.",
		Edit:   Edit{"lifecycle/handle.go", "if !h.wantsLocked(x) {", "if false {"},
		Suites: also(in("lifecycle", "TestLiveFramesWaitForTheReplay"), "TestEventAtTheSeamArrivesOnce"),
	},
	{
		Name: "floor-not-raised-live", Promise: "G6", Says: "A position that is delivered again is sent again.",
		Edit:   Edit{"lifecycle/handle.go", "\th.floor = max(h.floor, x.position)\n\tc.queue.push(f)\n", "\tc.queue.push(f)\n"},
		Suites: in("lifecycle", "TestAPositionIsDeliveredOnce"),
	},
	{
		Name: "floor-not-raised-by-hold", Promise: "G6", Says: "A held position that is delivered again is sent again.",
		Edit:   Edit{"lifecycle/handle.go", "\t\th.floor = max(h.floor, x.position)\n", ""},
		Suites: in("lifecycle", "TestLiveFramesWaitForTheReplay"),
	},
	{
		Name: "floor-lowered", Promise: "G6", Says: "A Begin with an older position opens the gate for what was sent.",
		Edit:   Edit{"lifecycle/handle.go", "= max(h.floor, a), max(h.base, a), late", "= a, max(h.base, a), late"},
		Suites: in("lifecycle", "TestBeginNeverLowersTheFloor"),
	},
	{
		Name: "held-not-dropped", Promise: "G6", Says: "A frame that was held before A was known comes twice.",
		Edit:   Edit{"lifecycle/handle.go", "\th.dropHeldLocked()\n", ""},
		Suites: in("lifecycle", "TestLiveFramesWaitForTheReplay"),
	},
	{
		Name: "replay-to-retired", Promise: "G2", Says: "A stored event of an older generation enters the queue.",
		Edit:   Edit{"lifecycle/handle.go", "if h.state == retired {\n\t\treturn nil, ErrRetired", "if false {\n\t\treturn nil, ErrRetired"},
		Suites: in("lifecycle", "TestReserveRetiresThePredecessorInTheSameStep"),
	},
	{
		Name: "live-after-retired", Promise: "G2", Says: "An older generation sends EOSE and goes live again.",
		Edit:   Edit{"lifecycle/handle.go", "if h.state == retired {\n\t\treturn false, ErrRetired", "if false {\n\t\treturn false, ErrRetired"},
		Suites: in("lifecycle", "TestReserveRetiresThePredecessorInTheSameStep"),
	},
	{
		Name: "overflow-forgotten", Promise: "G8", Says: "What the hold lost is never read from the log: a silent gap.",
		Edit:   Edit{"lifecycle/handle.go", "if h.overflowed || !c", "if !c"},
		Suites: also(in("lifecycle", "TestOverflowedHoldIsReadFromTheLog"), "TestHoldOverflowIsReadFromTheLog"),
	},
	{
		Name: "overflow-kept", Promise: "G8", Says: "After one overflow a subscription never goes live.",
		Edit:   Edit{"lifecycle/handle.go", "h.hold, h.holdBytes, h.overflowed = nil, 0, false", "h.hold, h.holdBytes = nil, 0"},
		Suites: in("lifecycle", "TestOverflowedHoldIsReadFromTheLog"),
	},
	{
		Name: "hold-unbounded-frames", Promise: "G8", Says: "A slow replay holds any number of live frames.",
		Edit:   Edit{"lifecycle/handle.go", "len(h.hold) >= l.HoldFrames || ", ""},
		Suites: in("lifecycle", "TestOverflowedHoldIsReadFromTheLog"),
	},
	{
		Name: "hold-unbounded-bytes", Promise: "G8", Says: "A slow replay holds live frames of any size.",
		Edit:   Edit{"lifecycle/handle.go", " || h.holdBytes+n > l.HoldBytes", ""},
		Suites: in("lifecycle", "TestHoldIsBoundedInBytes"),
	},
	{
		Name: "hold-pushed-without-room", Promise: "G8", Says: "Going live overfills the queue.",
		Edit:   Edit{"lifecycle/handle.go", " || !c.queue.fits(len(h.hold), h.holdBytes)", ""},
		Suites: in("lifecycle", "TestHoldThatDoesNotFitTheQueueIsReadFromTheLog"),
	},
	{
		Name: "eose-twice", Promise: "G6", Says: "A replay that is taken up again sends a second EOSE.",
		Edit:   Edit{"lifecycle/handle.go", "if !h.eosed {\n\t\th.eosed = true", "if true {\n\t\th.eosed = true"},
		Suites: in("lifecycle", "TestOverflowedHoldIsReadFromTheLog"),
	},
	{
		Name: "slow-reader-silent-gap", Promise: "G8", Says: "A live frame without room is dropped and nobody is told.",
		Edit:   Edit{"lifecycle/handle.go", "\t\th.endLocked(reasonSlow)\n\t\treturn Ended", "\t\treturn Dropped"},
		Suites: also(in("lifecycle", "TestLiveFrameWithoutRoomEndsThatSubscription"), "TestLiveFrameWithoutRoomEndsThatSubscriptionOnly"),
	},
	{
		Name: "live-without-room", Promise: "G8", Says: "A slow reader's queue grows without bound.",
		Edit:   Edit{"lifecycle/handle.go", "if !c.queue.fits(1, f.Len()) {\n\t\th.endLocked", "if false {\n\t\th.endLocked"},
		Suites: in("lifecycle", "TestLiveFrameWithoutRoomEndsThatSubscription"),
	},
	{
		Name: "slow-replay-never-ended", Promise: "G8", Says: "A replay that times out ends without CLOSED.",
		Edit:   Edit{"lifecycle/handle.go", "\t\th.Evict(reasonSlow)\n", ""},
		Suites: in("lifecycle", "TestStoredEventsWaitForRoomAndThenEnd"),
	},
	{
		Name: "history-fills-the-queue", Promise: "G8", Says: "A large replay leaves no room for other subscriptions' live frames.",
		Edit:   Edit{"lifecycle/queue.go", " && q.frames < q.maxFrames/2 && q.bytes+b <= q.maxBytes/2", ""},
		Suites: in("lifecycle", "TestStoredEventsWaitForRoomAndThenEnd"),
	},
	{
		Name: "history-larger-than-half-stuck", Promise: "G8", Says: "A stored event larger than half of the queue is never sent.",
		Edit:   Edit{"lifecycle/queue.go", "return empty && q.fits(1, b) ||", "return false && empty ||"},
		Suites: in("lifecycle", "TestAStoredEventLargerThanHalfOfTheQueueIsSent"),
	},
	{
		Name: "evict-any-generation", Promise: "G3", Says: "An eviction that comes late sends CLOSED for a generation that is over.",
		Edit:   Edit{"lifecycle/handle.go", "if h.state == retired { // race: eviction", "if false { // race: eviction"},
		Suites: also(in("lifecycle", "TestEvictEndsItsOwnGenerationOnly"), "TestEvictionSparesTheNewerGeneration", "TestEvictionAfterTheReplacementDoesNothing"),
	},
	{
		Name: "closed-not-findable", Promise: "G3", Says: "A queued CLOSED cannot be muted by the next REQ.",
		Edit:   Edit{"lifecycle/handle.go", "\th.conn.slots[h.id] = h // until the writer takes the frame\n", ""},
		Suites: in("lifecycle", "TestNewerRequestMutesTheQueuedClosedOfAnOlderOne"),
	},
	{
		Name: "retire-takes-the-newer-slot", Promise: "G3", Says: "Retiring an older generation forgets the newer one of its id.",
		Edit:   Edit{"lifecycle/handle.go", "if c.slots[h.id] == h {", "if true {"},
		And:    []Edit{{"lifecycle/handle.go", "if h.state == retired { // race: eviction", "if false { // race: eviction"}},
		Suites: in("lifecycle", "TestEvictEndsItsOwnGenerationOnly"),
	},
	{
		Name: "retire-keeps-the-reservation", Promise: "G8", Says: "Room promised to a generation that is over is lost for ever.",
		Edit:   Edit{"lifecycle/handle.go", "\tc.queue.unreserve(h.reservedFrames(), h.reserved)\n", ""},
		Suites: in("lifecycle", "TestReleaseDropsWhatIsQueuedAndWhatComesLater"),
	},
	{
		Name: "retire-releases-too-much", Promise: "G3", Says: "A generation past its EOSE gives back two frames and reserved one.",
		Edit:   Edit{"lifecycle/handle.go", "case h.eosed:\n\t\treturn 1", "case h.eosed:\n\t\treturn 2"},
		Suites: in("lifecycle", "TestRoomIsNeitherLostNorGainedByChurn"),
	},
	{
		Name: "retire-keeps-queued-counted", Promise: "G8", Says: "Frames that will be dropped keep taking room.",
		Edit:   Edit{"lifecycle/handle.go", "\th.reserved = 0\n\tc.queue.forget(h)\n", "\th.reserved = 0\n"},
		Suites: in("lifecycle", "TestReleaseDropsWhatIsQueuedAndWhatComesLater"),
	},
	{
		Name: "retire-wakes-nobody", Promise: "G8", Says: "The reader sleeps on although a retired generation gave its room back.",
		Edit:   Edit{"lifecycle/handle.go", "\t\tdelete(c.slots, h.id)\n\t}\n\tc.freedLocked()\n", "\t\tdelete(c.slots, h.id)\n\t}\n"},
		Suites: in("lifecycle", "TestReserveWaitsUntilAnEvictionFreesRoom"),
	},
	{
		Name: "dead-frames-kept", Promise: "G8", Says: "A client that replaces and never reads fills the memory.",
		Edit:   Edit{"lifecycle/queue.go", "if len(q.items)-q.head-q.frames < q.frames+slack {", "if true {"},
		Suites: in("lifecycle", "TestDeadFramesDoNotPileUp"),
	},
	{
		Name: "compact-drops-live-frames", Promise: "G8", Says: "Clearing dead frames away loses one that is wanted.",
		Edit:   Edit{"lifecycle/queue.go", "for _, f := range q.items[q.head:] {", "for _, f := range q.items[min(q.head+1, len(q.items)):] {"},
		Suites: in("lifecycle", "TestClearingDeadFramesKeepsTheLiveOnes"),
	},
	{
		Name: "compact-forgets-what-is-taken", Promise: "G8", Says: "After clearing, the queue skips as many frames as were taken before.",
		Edit:   Edit{"lifecycle/queue.go", "q.items, q.head = kept, 0", "q.items = kept"},
		Suites: in("lifecycle", "TestClearingDeadFramesKeepsTheLiveOnes"),
	},
	{
		Name: "deliver-wakes-nobody", Promise: "G8", Says: "A live frame lies in the queue until something else is sent.",
		Edit:   Edit{"lifecycle/handle.go", "\tc.queue.push(f)\n\tc.wakeLocked()\n\treturn Queued", "\tc.queue.push(f)\n\treturn Queued"},
		Suites: in("lifecycle", "TestWhateverIsQueuedWakesTheWriter"),
	},
	{
		Name: "replay-wakes-nobody", Promise: "G8", Says: "Stored events lie in the queue until something else is sent.",
		Edit:   Edit{"lifecycle/handle.go", "\tc.queue.push(f)\n\tc.wakeLocked()\n\treturn nil, nil", "\tc.queue.push(f)\n\treturn nil, nil"},
		Suites: in("lifecycle", "TestWhateverIsQueuedWakesTheWriter"),
	},
	{
		Name: "closed-wakes-nobody", Promise: "G3", Says: "CLOSED lies in the queue until something else is sent.",
		Edit:   Edit{"lifecycle/handle.go", "kindClosed, handle: h, text: text})\n\th.conn.wakeLocked()\n", "kindClosed, handle: h, text: text})\n"},
		Suites: in("lifecycle", "TestWhateverIsQueuedWakesTheWriter"),
	},
	{
		Name: "reason-unbounded", Promise: "G8", Says: "A CLOSED grows beyond the room that was reserved for it.",
		Edit:   Edit{"lifecycle/handle.go", "\tr.Text = clip(r.Text)\n", ""},
		Suites: in("lifecycle", "TestReasonOfClosedFitsItsReservation"),
	},
}
