package pause

// Point names one place. Each comment says which race opens there.
type Point string

const (
	// ReqReserved: the handle is reserved and its predecessor retired; nothing
	// is indexed yet. CLOSE, a newer REQ or a disconnect may retire the handle
	// before its worker does anything.
	ReqReserved Point = "req.reserved"
	// ReqStarted: the query runs, the handle is not in the index. The reader goes
	// on meanwhile: CLOSE or a newer REQ that it reads here finds nothing to
	// remove, and Add must not be the last word.
	ReqStarted Point = "req.started"
	// ReqIndexed: the handle is in the index, the re-check has not happened. A
	// CLOSE that came between finds nothing to remove, so the re-check must.
	ReqIndexed Point = "req.indexed"
	// ReqSnapshot: the snapshot of a REQ or COUNT is open, nothing has been sent. A
	// replacement or deletion here must not change what is sent; a CLOSE must stop
	// it. It can hold events from after a revocation that is not in force yet. A REQ
	// has not asked yet which rows are deferred: one that is delivered here is stored.
	ReqSnapshot Point = "req.snapshot"
	// ReqBegun: a REQ has its seam, which is the end of the snapshot and the deferred
	// rows below it. Events that commit here, and deferred rows that are delivered
	// here, arrive live. A feed has found its position in the log, and has the head as
	// its seam: retention here can move the floor past the position.
	ReqBegun Point = "req.begun"
	// ReqPage: a page of stored events, or for a feed of the log, was read and not yet
	// queued. Retention here can move the floor past the next one.
	ReqPage Point = "req.page"
	// ReqReplayed: everything stored is queued, EOSE is not. Live frames wait in
	// the hold.
	ReqReplayed Point = "req.replayed"
	// ReqRestarted: the hold overflowed and was emptied; the new begun position
	// has not been read. Frames that arrive here are held and in the log.
	ReqRestarted Point = "req.restarted"
	// ReqCaughtUp: the log was read up to the new begun position and queued.
	ReqCaughtUp Point = "req.caughtup"

	// FanoutRead: the follower has the entry, begun is not published. A REQ here
	// reads an A below it and must find it live.
	FanoutRead Point = "fanout.read"
	// FanoutBegun: begun is published, the index has not been asked. A REQ here
	// reads an A that includes the entry and must find it stored.
	FanoutBegun Point = "fanout.begun"
	// FanoutSelected: candidate handles are chosen. Each may be closed, replaced
	// or evicted before its frame is inserted.
	FanoutSelected Point = "fanout.selected"
	// DeferredLifted: a row is no longer among the deferred ones, and the index has not
	// been asked. A REQ here must find it stored.
	DeferredLifted Point = "deferred.lifted"
	// FanoutDecided: a candidate matches and may see the event; its frame is not
	// inserted. The last moment before the fence.
	FanoutDecided Point = "fanout.decided"

	// DecideChosen: queued frames whose grant does not hold are chosen, none is
	// decided about. CLOSE, a newer REQ or another revocation may come first.
	DecideChosen Point = "decide.chosen"
	// DecideDone: they are decided about, and the answers are not in the queue. A
	// revocation here must make them ask again.
	DecideDone Point = "decide.done"

	// ReqJudged: the filters are judged, nothing is reserved. A revocation here
	// finds no handle to evict, so the REQ must be judged again.
	ReqJudged Point = "req.judged"
	// ReqDecided: the reader may see a stored event; its frame is not queued. A
	// revocation here must keep it from being taken.
	ReqDecided Point = "req.decided"
	// AuthAdded: a key has been added to the connection, and nobody has asked
	// whether it is banned. A ban that came before has not seen the key.
	AuthAdded Point = "auth.added"
	// EventPlanned: an event is allowed under epochs that were read; it is not in
	// the commit queue. A revocation that commits here must make it ask again.
	EventPlanned Point = "event.planned"
	// ControlChanged: the follower has changed the state and moved the epochs of a
	// control row; no subscription has been chosen for eviction.
	ControlChanged Point = "control.changed"

	// QueryJudged: the filters of a COUNT or NEG-OPEN are judged, and no event has been
	// asked about. A revocation here hides every event of what it closes, so the filters
	// must be judged again.
	QueryJudged Point = "query.judged"
	// NegCollected: the events of a NEG-OPEN are collected, the answer is not queued.
	// NEG-CLOSE or a newer NEG-OPEN of its id must keep it back, and so must a revocation.
	NegCollected Point = "neg.collected"

	// CloseRead: CLOSE was read, nothing is retired.
	CloseRead Point = "close.read"
	// CloseReleased: the handle is retired, the index still has it.
	CloseReleased Point = "close.released"

	// EvictSelected: handles to evict are chosen, none is evicted. Each may be
	// replaced by a newer generation that must survive.
	EvictSelected Point = "evict.selected"
	// Evicted: a handle was evicted, the index still has it.
	Evicted Point = "evict.evicted"

	// WriteTaken: the writer has taken a batch and not written it.
	WriteTaken Point = "write.taken"
	// ConnClosed: the connection is closed to new frames; its handles are
	// retired but still in the index.
	ConnClosed Point = "conn.closed"

	// EventVerified: an event's signature was checked; it is not in the commit
	// queue. Another event of the connection may have been checked sooner.
	EventVerified Point = "event.verified"
	// EventCommitted: the event is durable, OK is not queued.
	EventCommitted Point = "event.committed"

	// FenceJudged: the record of a stream was read and a change of it is decided, and
	// nothing is written. Another claim, a revocation or a frame may come first.
	FenceJudged Point = "fence.judged"
	// FenceWritten: the changed record is written, its caller has not been answered. A
	// process that dies here has done what nobody was told.
	FenceWritten Point = "fence.written"
	// DrainLocked: the drain lock is taken, nothing is delivered. It runs out for who is
	// stopped here.
	DrainLocked Point = "drain.locked"
	// DrainDelivered: the first frame is delivered, and still in its stream. Another
	// drainer delivers it again.
	DrainDelivered Point = "drain.delivered"
	// DrainSwapped: the frame is out of its stream, its item is not deleted.
	DrainSwapped Point = "drain.swapped"

	// MirrorEvent: an owner has read an event of the upstream, and its fence has not let
	// it in. Another process may have claimed the stream.
	MirrorEvent Point = "mirror.event"
	// MirrorPage: a page of the past is taken in, the cursor does not say so.
	MirrorPage Point = "mirror.page"
	// MirrorRenewal: an owner is about to renew its lease.
	MirrorRenewal Point = "mirror.renewal"
)
