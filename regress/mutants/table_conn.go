package mutants

// connMutants remove what a connection checks about all its generations, its
// room and its end.
var connMutants = []Mutant{
	{
		Name: "crew-of-one", Promise: "G8", Says: "A client that does not read keeps all others from their frames.",
		Edit:   Edit{"lifecycle/crew.go", "\tstart = !w.looking\n\tw.looking = true\n\treturn c, start\n", "\tw.looking = true\n\treturn c, start\n"},
		Suites: in("lifecycle", "TestAWriterThatBlocksKeepsNobodyFromWriting"),
	},
	{
		Name: "crew-goes-home", Promise: "G8", Says: "Frames stay in their queues once a crew has been idle.",
		Edit:   Edit{"lifecycle/crew.go", "\tif looks {\n\t\tw.looking = false\n\t}\n", ""},
		Suites: in("lifecycle", "TestAWriterThatBlocksKeepsNobodyFromWriting"),
	},
	{
		Name: "reserve-keeps-predecessor", Promise: "G2", Says: "Two generations of one id are current after a REQ.",
		Edit:   Edit{"lifecycle/reserve.go", "\told = c.supersedeLocked(h.id)\n\tif r", "\tif r"},
		Suites: also(in("lifecycle", "TestReserveRetiresThePredecessorInTheSameStep"), "TestReplacementDuringFanoutSendsNothingOfTheOlder"),
	},
	{
		Name: "supersede-does-not-retire", Promise: "G2", Says: "The older generation goes on after a newer REQ was read.",
		Edit:   Edit{"lifecycle/reserve.go", "\th.retireLocked()\n\treturn h\n", "\treturn h\n"},
		Suites: in("lifecycle", "TestReserveRetiresThePredecessorInTheSameStep"),
	},
	{
		Name: "refusal-keeps-predecessor", Promise: "G5", Says: "After CLOSED x events for x go on.",
		Edit:   Edit{"lifecycle/reserve.go", "\told = c.supersedeLocked(h.id)\n\tc.refuseLocked(h, r)", "\tc.refuseLocked(h, r)"},
		Suites: also(in("lifecycle", "TestRefusalEndsTheOlderGeneration"), "TestRefusalDuringFanoutIsTheLastFrame"),
	},
	{
		Name: "subscriptions-unbounded", Promise: "G5", Says: "A connection opens any number of subscriptions.",
		Edit:   Edit{"lifecycle/reserve.go", "case c.current >= c.limits.Subscriptions:", "case false:"},
		Suites: in("lifecycle", "TestTooManySubscriptionsAreRefused"),
	},
	{
		Name: "queued-closed-not-muted", Promise: "G3", Says: "The CLOSED of an older generation ends the newer one in the client's eyes.",
		Edit:   Edit{"lifecycle/reserve.go", "\t\tc.muteLocked(h)\n", ""},
		Suites: also(in("lifecycle", "TestNewerRequestMutesTheQueuedClosedOfAnOlderOne"), "TestClosedOfTheOlderIsMutedByANewerREQ"),
	},
	{
		Name: "queued-closed-after-close", Promise: "G1", Says: "A CLOSED is written for an id after its CLOSE.",
		Edit:   Edit{"lifecycle/reserve.go", "\t\t\tc.muteLocked(old)\n", ""},
		Suites: also(in("lifecycle", "TestCloseMutesTheQueuedClosed"), "TestClosedOfTheOlderIsMutedByClose"),
	},
	{
		Name: "muting-without-effect", Promise: "G3", Says: "A muted CLOSED is not counted and written all the same.",
		Edit:   Edit{"lifecycle/reserve.go", "\th.closing = false\n", ""},
		Suites: in("lifecycle", "TestCloseMutesTheQueuedClosed"),
	},
	{
		Name: "reserve-without-reservation", Promise: "G8", Says: "EOSE and CLOSED find no room when they are due.",
		Edit:   Edit{"lifecycle/reserve.go", "\tc.queue.reserve(2, h.reserved)\n", ""},
		Suites: in("lifecycle", "TestReleaseDropsWhatIsQueuedAndWhatComesLater"),
	},
	{
		Name: "reserve-without-room", Promise: "G8", Says: "A client that does not read opens subscriptions without end.",
		Edit:   Edit{"lifecycle/reserve.go", "if !c.fitsAfterLocked(h.id, 2, eose+closed) {", "if false {"},
		Suites: in("lifecycle", "TestReserveWaitsForRoomAndCountsWhatThePredecessorGivesBack"),
	},
	{
		Name: "predecessor-room-not-counted", Promise: "G8", Says: "A full queue keeps a client from replacing what fills it.",
		Edit:   Edit{"lifecycle/reserve.go", "\t\tframes -= h.queued + h.reservedFrames()\n", ""},
		Suites: in("lifecycle", "TestReserveWaitsForRoomAndCountsWhatThePredecessorGivesBack"),
	},
	{
		Name: "refusal-without-reservation", Promise: "G8", Says: "Each refused REQ makes the queue one frame larger.",
		Edit:   Edit{"lifecycle/reserve.go", "\tc.queue.reserve(1, 0)\n", ""},
		Suites: in("lifecycle", "TestRoomIsNeitherLostNorGainedByChurn"),
	},
	{
		Name: "refusal-without-room", Promise: "G8", Says: "Refusals overfill the queue of a client that does not read.",
		Edit:   Edit{"lifecycle/reserve.go", "!c.fitsAfterLocked(h.id, 1, closed) {", "closed < 0 {"},
		Suites: in("lifecycle", "TestRefusalWaitsForRoom"),
	},
	{
		Name: "release-does-not-retire", Promise: "G1", Says: "CLOSE is read and nothing ends.",
		Edit:   Edit{"lifecycle/reserve.go", "\told.retireLocked()\n", ""},
		Suites: also(in("lifecycle", "TestReleaseDropsWhatIsQueuedAndWhatComesLater"), "TestCloseDuringFanoutSendsNothing"),
	},
	{
		Name: "release-stops-no-query", Promise: "G1", Says: "The query of a closed subscription runs on.",
		Edit:   Edit{"lifecycle/reserve.go", "\told = c.release(id)\n\tfinishHandle(old)\n", "\told = c.release(id)\n"},
		Suites: in("lifecycle", "TestTheContextOfAGenerationEndsWithIt"),
	},
	{
		Name: "reserve-stops-no-query", Promise: "G2", Says: "The query of a replaced subscription runs on.",
		Edit:   Edit{"lifecycle/reserve.go", "\t\t\tfinishHandle(old)\n\t\t\treturn got, old, err", "\t\t\treturn got, old, err"},
		Suites: in("lifecycle", "TestTheContextOfAGenerationEndsWithIt"),
	},
	{
		Name: "refusal-stops-no-query", Promise: "G5", Says: "The query of a subscription that a refusal ended runs on.",
		Edit:   Edit{"lifecycle/reserve.go", "\t\t\tfinishHandle(old)\n\t\t\treturn old, err", "\t\t\treturn old, err"},
		Suites: in("lifecycle", "TestTheContextOfAGenerationEndsWithIt"),
	},
	{
		Name: "eviction-stops-no-query", Promise: "G3", Says: "The query of an evicted subscription runs on.",
		Edit:   Edit{"lifecycle/handle.go", "done := h.evict(r)\n\tif done {", "done := h.evict(r)\n\tif false {"},
		Suites: in("lifecycle", "TestTheContextOfAGenerationEndsWithIt"),
	},
	{
		Name: "close-ack-forgotten", Promise: "close_ack", Says: "CLOSE is not acknowledged where the operator wants it.",
		Edit:   Edit{"lifecycle/reserve.go", "if c.closeAck {", "if false {"},
		Suites: in("lifecycle", "TestCloseAckIsTheLastFrameOfItsGeneration"),
	},
	{
		Name: "end-keeps-generations", Promise: "G10", Says: "Generations stay current after their connection has closed.",
		Edit:   Edit{"lifecycle/conn.go", "\t\t\th.retireLocked()\n\t\t\tended = append(ended, h)", "\t\t\tended = append(ended, h)"},
		Suites: in("lifecycle", "TestCloseKeepsAnswersAndNothingElse"),
	},
	{
		Name: "end-returns-nothing", Promise: "G10", Says: "Generations of closed connections stay in the index.",
		Edit:   Edit{"lifecycle/conn.go", "\tended := c.ended\n", "\tvar ended []*Handle\n"},
		Suites: also(in("lifecycle", "TestCloseKeepsAnswersAndNothingElse"), "TestDisconnectLeavesNothing"),
	},
	{
		Name: "end-returns-twice", Promise: "G10", Says: "A generation is taken out of the index twice.",
		Edit:   Edit{"lifecycle/conn.go", "\tc.ended = nil\n", ""},
		Suites: in("lifecycle", "TestCloseKeepsAnswersAndNothingElse"),
	},
	{
		Name: "end-does-not-flush", Promise: "G10", Says: "An answer that is owed is lost when the connection closes.",
		Edit:   Edit{"lifecycle/room.go", "(c.answers == 0 || c.state == finished || c.writer.gaveUp)", "true"},
		Suites: also(in("lifecycle", "TestCloseKeepsAnswersAndNothingElse"), "TestAcknowledgedEventsAreAnsweredWhileTheConnectionCloses"),
	},
	{
		Name: "last-cause-wins", Promise: "G10", Says: "The close code tells the last reason instead of the first.",
		Edit:   Edit{"lifecycle/conn.go", "if c.state != open {\n\t\treturn nil, false", "if c.state == finished {\n\t\treturn nil, false"},
		Suites: in("lifecycle", "TestCloseKeepsAnswersAndNothingElse"),
	},
	{
		Name: "end-keeps-goroutines", Promise: "G10", Says: "Goroutines outlive their connection.",
		Edit:   Edit{"lifecycle/conn.go", "\tc.group.Cancel()\n", ""},
		Suites: in("lifecycle", "TestFinishEndsTheGoroutinesOfTheConnection"),
	},
	{
		Name: "reserve-after-end", Promise: "G10", Says: "A subscription begins on a connection that is closing.",
		Edit:   Edit{"lifecycle/reserve.go", "if c.state != open {\n\t\treturn nil, nil, nil, ErrClosed", "if false {\n\t\treturn nil, nil, nil, ErrClosed"},
		Suites: in("lifecycle", "TestCloseKeepsAnswersAndNothingElse"),
	},
	{
		Name: "answer-reserved-after-end", Promise: "G10", Says: "A closing connection takes on answers and never ends.",
		Edit:   Edit{"lifecycle/room.go", "if c.state != open {\n\t\treturn nil, ErrClosed", "if false {\n\t\treturn nil, ErrClosed"},
		Suites: in("lifecycle", "TestCloseKeepsAnswersAndNothingElse"),
	},
	{
		Name: "close-wakes-no-writer", Promise: "G10", Says: "A connection that closes with an empty queue is never finished.",
		Edit:   Edit{"lifecycle/conn.go", "\tc.ended = ended\n\tc.wakeLocked()\n", "\tc.ended = ended\n"},
		Suites: in("lifecycle", "TestWhateverIsQueuedWakesTheWriter"),
	},
	{
		Name: "answer-without-room", Promise: "G8", Says: "A client that does not read is answered without bound.",
		Edit:   Edit{"lifecycle/room.go", "if !c.queue.fits(1, n) {", "if false {"},
		Suites: in("lifecycle", "TestAnswersWaitForRoom"),
	},
	{
		Name: "answer-keeps-its-room", Promise: "G8", Says: "Each answer makes the queue one frame smaller.",
		Edit:   Edit{"lifecycle/room.go", "\tc.queue.unreserve(1, a.bytes)\n\tc.answers--\n\tif c.state != finished", "\tc.answers--\n\tif c.state != finished"},
		Suites: in("lifecycle", "TestCloseKeepsAnswersAndNothingElse"),
	},
	{
		Name: "dropped-answer-wakes-no-reader", Promise: "G8", Says: "The reader sleeps on although an answer gave its room back.",
		Edit:   Edit{"lifecycle/room.go", "\tc.wakeLocked()\n\tc.freedLocked()\n", "\tc.wakeLocked()\n"},
		Suites: in("lifecycle", "TestADroppedAnswerFreesItsRoom"),
	},
	{
		Name: "notice-without-room", Promise: "G8", Says: "Unsolicited frames overfill the queue.",
		Edit:   Edit{"lifecycle/room.go", "if c.state != open || !c.queue.fits(1, len(text)) {", "if c.state != open {"},
		Suites: in("lifecycle", "TestUnsolicitedFramesAreDroppedWithoutRoom"),
	},
	{
		Name: "taking-frees-nobody", Promise: "G8", Says: "Whoever waits for room sleeps on although the writer made some.",
		Edit:   Edit{"lifecycle/room.go", "\tif c.queue.frames < queued {\n\t\tc.freedLocked()\n\t}\n", "\t_ = queued\n"},
		Suites: in("lifecycle", "TestAnswersWaitForRoom", "TestStoredEventsWaitForRoomAndThenEnd"),
	},
	{
		Name: "drain-evicts-twice", Promise: "G3", Says: "A drain sends a second CLOSED for what was just evicted.",
		Edit:   Edit{"lifecycle/room.go", "if h.state != retired {\n\t\t\tended = append", "if true {\n\t\t\tended = append"},
		Suites: in("lifecycle", "TestDrainSparesWhatIsEvictedAlready"),
	},
	{
		Name: "batch-unbounded", Promise: "G1", Says: "Everything queued is taken at once and can reach the client after a CLOSE.",
		Edit:   Edit{"lifecycle/queue.go", "i < len(q.items) && size < maxBytes;", "i < len(q.items) && size < 1<<60;"},
		Suites: in("lifecycle", "TestABatchEndsAtItsSize"),
	},
	{
		Name: "writer-wake-up-lost", Promise: "G8", Says: "What is queued while the writer ends is never written.",
		Edit:   Edit{"lifecycle/room.go", "\tc.tookLocked(len(dst), done)\n", ""},
		And:    []Edit{{"lifecycle/writer.go", "over = c.writer.write(c.group.Context())\n", "over = c.writer.write(c.group.Context())\n\tc.mu.Lock()\n\tc.tookLocked(0, over)\n\tc.mu.Unlock()\n"}},
		Suites: in("lifecycle", "TestWriterThatIsEndingLosesNothing"),
		Hangs:  true,
	},
	{
		Name: "writer-runs-twice", Promise: "G8", Says: "Two writers of one connection overtake each other.",
		Edit:   Edit{"lifecycle/writer.go", "if c.writer.write == nil || c.writer.busy {", "if c.writer.write == nil {"},
		Suites: in("lifecycle", "TestWhateverIsQueuedWakesTheWriter", "TestWakeUpsAgainstTheEndOfTheWriter"),
		Hangs:  true,
	},
	{
		Name: "writer-waits-for-ever", Promise: "G10", Says: "An answer that never comes keeps a closing connection.",
		Edit:   Edit{"lifecycle/writer.go", "\tc.writer.gaveUp = true\n", ""},
		Suites: append(in("lifecycle", "TestGiveUpEndsAWriterThatWaitsForAnswers"), in("relay/conn", "TestFlushingIsBounded")...),
		Hangs:  true,
	},
	{
		Name: "writer-not-waited-for", Promise: "G10", Says: "A connection counts as gone while its writer is writing.",
		Edit:   Edit{"lifecycle/writer.go", "c.group.enter(writerName) //", "//"},
		Suites: in("lifecycle", "TestGroupWaitsForTheWriterThatSleeps"),
	},
	{
		Name: "waiting-counts-unbounded", Promise: "G8", Says: "COUNTs that wait hold any number of goroutines.",
		Edit:   Edit{"lifecycle/room.go", "c.charged >= maxCharged || ", ""},
		Suites: in("handlers", "TestWaitingCountsAreBounded"),
	},
	{
		Name: "last-block-ends-the-message", Promise: "RFC 7692", Says: "What follows a block that is marked as the last is dropped without a word.",
		Edit:   Edit{"relay/conn/inflate.go", "(rest == 0 || rest == len(tail))", "(rest >= 0 || rest == len(tail))"},
		Suites: in("relay/conn", "TestBlocksMarkedAsTheLastAreReadOn"),
	},
	{
		Name: "long-length-taken", Promise: "RFC 6455", Says: "A length that is not written in its shortest form is taken.",
		Edit:   Edit{"relay/conn/inbound.go", "case short == 126 && h.length < 126, short == 127", "case short == 125 && h.length < 0, short == 125"},
		Suites: in("relay/conn", "FuzzMessages"),
	},
}
