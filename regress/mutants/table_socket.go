package mutants

// socketMutants remove what relay/conn and the registry hold against a peer.
var socketMutants = []Mutant{
	{
		Name: "utf8-unchecked", Promise: "RFC 6455", Says: "A text message that is not UTF-8 reaches the decoder.",
		Edit:   Edit{"relay/conn/link.go", "if !utf8.Valid(msg) {", "if len(msg) > 1<<40 && !utf8.Valid(msg) {"},
		Suites: in("relay/conn", "TestWhatBreaksTheProtocolIsToldWhy"),
	},
	{
		Name: "message-size-unchecked", Promise: "RFC 6455", Says: "A message over the limit is cut and obeyed.",
		Edit:   Edit{"relay/conn/inflate.go", "case max > 0 && int64(msg.Len()) > max:", "case false:"},
		Suites: in("relay/conn", "TestTheLimitHoldsAfterInflation"),
	},
	{
		Name: "message-size-unbounded", Promise: "RFC 6455", Says: "A message of any size is kept in memory before it is refused.",
		Edit:   Edit{"relay/conn/inbound.go", "most > 0 && h.length > most-int64(len(msg))", "most > 0 && h.length > most"},
		Suites: in("relay/conn", "TestWhatBreaksTheProtocolIsToldWhy"),
	},
	{
		Name: "binary-taken", Promise: "RFC 6455", Says: "A binary message is read as text.",
		Edit:   Edit{"relay/conn/inbound.go", "case h.opcode == opBinary:", "case false:"},
		Suites: in("relay/conn", "TestWhatBreaksTheProtocolIsToldWhy"),
	},
	{
		Name: "batch-too-large", Promise: "G1", Says: "More than 64 KiB may reach the client after a cut-over.",
		Edit:   Edit{"relay/conn/writer.go", "maxBatch = 64 << 10", "maxBatch = 64 << 20"},
		Suites: in("relay/conn", "TestABatchHoldsAtMost64KiB"),
	},
	{
		Name: "frames-written-one-by-one", Promise: "G8", Says: "Each frame costs a system call.",
		Edit:   Edit{"relay/conn/writer.go", "l.conn.Take((*batch)[:0], maxBatch)", "l.conn.Take((*batch)[:0], 1)"},
		Suites: in("relay/conn", "TestSixteenFramesAreOneWrite"),
	},
	{
		Name: "end-without-reason", Promise: "G10", Says: "The client is not told why the relay closes.",
		Edit:   Edit{"relay/conn/writer.go", "\t\t\tl.sayWhy()\n", ""},
		Suites: in("relay/conn", "TestTheClientIsToldWhyTheRelayCloses"),
	},
	{
		Name: "frames-after-close-frame", Promise: "RFC 6455", Says: "Something is written behind the close frame.",
		Edit:   Edit{"relay/conn/wireconn.go", "if c.sealed {", "if false {"},
		Suites: in("relay/conn", "TestNothingIsWrittenBehindTheCloseFrame"),
	},
	{
		Name: "deadline-left-behind", Promise: "websocket.write_timeout", Says: "A client that was slow once loses its connection although it reads again.",
		Edit:   Edit{"relay/conn/wireconn.go", "return c.SetWriteDeadline(time.Time{}) //", "return nil //"},
		Suites: in("relay/conn", "TestASlowWriteLeavesNoDeadlineBehind"),
	},
	{
		Name: "rest-without-deadline", Promise: "websocket.write_timeout", Says: "A client that takes a part and reads no more holds its writer for ever.",
		Edit:   Edit{"relay/conn/wireconn.go", "err := c.SetWriteDeadline(deadline)", "err := c.SetWriteDeadline(time.Time{})"},
		Suites: in("relay/conn", "TestTheRestIsWrittenWithinTheDeadline"),
	},
	{
		Name: "rest-not-written", Promise: "RFC 6455", Says: "What the socket does not take at once is lost, and half a frame stays.",
		Edit:   Edit{"relay/conn/wireconn.go", "if err != nil || len(rest) == 0 {", "if err != nil || len(rest) >= 0 {"},
		Suites: in("relay/conn", "TestTheRestIsWrittenWithinTheDeadline", "TestClosingEndsAWrite"),
	},
	{
		Name: "deadline-for-every-write", Promise: "G8", Says: "Each write sets a timer, also when the socket takes all at once.",
		Edit:   Edit{"relay/conn/wireconn.go", "\tif c.raw == nil {\n\t\treturn c.writeBy", "\tif true {\n\t\treturn c.writeBy"},
		Suites: in("relay/conn", "TestWhatTheSocketTakesAtOnceNeedsNoDeadline"),
	},
	{
		Name: "error-of-the-try-dropped", Promise: "G10", Says: "Why a connection is lost is not known.",
		Edit:   Edit{"relay/conn/wireconn.go", "if c.outErr != nil {", "if false {"},
		Suites: in("relay/conn", "TestAFailedWriteSaysTheSameInBothWays"),
	},
	{
		Name: "deadlines-of-http-hold", Promise: "websocket.write_timeout", Says: "A connection ends when the time for its HTTP request is over.",
		Edit:   Edit{"relay/conn/upgrade.go", "errors.Join(tune(raw), raw.SetDeadline(time.Time{}))", "tune(raw)"},
		Suites: in("relay/conn", "TestDeadlinesOfHTTPDoNotHold"),
	},
	{
		Name: "dead-peer-kept", Promise: "G10", Says: "A peer that is gone keeps its connection.",
		Edit:   Edit{"relay/conn/writer.go", "if err != nil && judged {", "if err != nil && judged && false {"},
		Suites: in("relay/conn", "TestADeadPeerIsNoticedAlthoughItHasSubscriptions"),
		Hangs:  true,
	},
	{
		Name: "busy-peer-cut", Promise: "G8", Says: "A healthy client is cut because the relay was busy with its message.",
		Edit:   Edit{"relay/conn/writer.go", "judged := now == turn && now%2 == 0 && !l.writing.Load()", "judged := now >= turn"},
		Suites: in("relay/conn", "TestASlowHandlerDoesNotMakeItsPeerDead"),
	},
	{
		Name: "flush-unbounded", Promise: "G10", Says: "A client that does not read keeps a closing connection for ever.",
		Edit:   Edit{"relay/conn/link.go", "time.AfterFunc(o.FlushTimeout, l.cut)", "time.AfterFunc(time.Hour, l.cut)"},
		Suites: in("relay/conn", "TestFlushingIsBounded"),
	},
	{
		Name: "handler-outlives-connection", Promise: "G10", Says: "What a message waits for is waited for after the connection has closed.",
		Edit:   Edit{"lifecycle/context.go", "return o.conn.closing }", "return nil }"},
		Suites: in("relay/conn", "TestWhatHandleWaitsForEndsWithTheConnection"),
		Hangs:  true,
	},
	{
		Name: "session-not-ended", Promise: "G10", Says: "The handles of a connection stay in the index.",
		Edit:   Edit{"relay/conn/link.go", "\t\tl.session.End(ended)\n", "\t\t_ = ended\n"},
		Suites: in("relay/conn", "TestADeadPeerIsNoticedAlthoughItHasSubscriptions"),
	},
	{
		Name: "connection-stays-registered", Promise: "G10", Says: "Closed connections stay in the registry.",
		Edit:   Edit{"relay/conn/link.go", "\to.Registry.Remove(l.conn)\n", ""},
		Suites: in("relay/conn", "TestConnectionsLeaveNothingBehind"),
	},
	{
		Name: "forwarded-by-anybody", Promise: "G10", Says: "A client chooses the address by which it is counted.",
		Edit:   Edit{"relay/conn/peer.go", "if isTrusted(addr, trusted) {\n\t\thop := 0", "if true {\n\t\thop := 0"},
		Suites: in("relay/conn", "TestClientPeer"),
	},
	{
		Name: "forwarded-leftmost", Promise: "G10", Says: "The address that the client itself wrote is believed.",
		Edit:   Edit{"relay/conn/peer.go", "if from = next; i == 0 || !isTrusted(next, trusted) {", "if from = next; i == 0 {"},
		Suites: in("relay/conn", "TestClientPeer"),
	},
	{
		Name: "total-cap-unchecked", Promise: "G10", Says: "The relay takes connections without end.",
		Edit:   Edit{"registry/admission.go", "if total > 0 && a.total >= total {", "if total > 0 && a.total > total {"},
		Suites: in("relay/conn", "TestOverACapTheClientIsToldToComeBack"),
	},
	{
		Name: "address-cap-unchecked", Promise: "G10", Says: "One address takes all connections.",
		Edit:   Edit{"registry/admission.go", "a.counts[network] >= perAddress {", "a.counts[network] > perAddress {"},
		Suites: in("relay/conn", "TestOverACapTheClientIsToldToComeBack"),
	},
	{
		Name: "admission-not-returned", Promise: "G10", Says: "Places of connections that have ended are never free again.",
		Edit:   Edit{"registry/admission.go", "\ta.total--\n", ""},
		Suites: in("relay/conn", "TestChurnLeavesNothingBehind"),
	},
	{
		Name: "sockets-uncapped", Promise: "G10", Says: "Sockets that ask for nothing are taken without end.",
		Edit:   Edit{"relay/conn/guard.go", "return g.sockets.Admit(addr, perAddress, total)", "return g.sockets.Admit(addr, 0, 0)"},
		Suites: in("relay/conn", "TestSocketsAreCountedBeforeHTTP"),
	},
	{
		Name: "proxy-counted-as-client", Promise: "G10", Says: "Everybody behind one proxy shares the cap of one address.",
		Edit:   Edit{"relay/conn/guard.go", "if isTrusted(addr, o.TrustedProxies) {", "if false {"},
		Suites: in("relay/conn", "TestSocketsAreCountedBeforeHTTP"),
	},
	{
		Name: "descriptors-of-the-store-taken", Promise: "E1", Says: "Clients take the file descriptors that the store needs.",
		Edit:   Edit{"relay/conn/guard.go", "if g.most > 0 && (total == 0 || total > g.most) {", "if false {"},
		Suites: in("relay/conn", "TestSocketsAreCountedBeforeHTTP"),
	},
	{
		Name: "socket-keeps-its-place", Promise: "G10", Says: "Places of sockets that are closed are never free again.",
		Edit:   Edit{"relay/conn/guard.go", "\tdefer c.release()\n", ""},
		Suites: in("relay/conn", "TestSocketsAreCountedBeforeHTTP"),
	},
	{
		Name: "close-frame-not-awaited", Promise: "RFC 6455", Says: "What is under way when the relay closes takes back its close frame.",
		Edit:   Edit{"relay/conn/websocket.go", "return s.in.drain()", "return nil"},
		Suites: in("relay/conn", "TestTheRelayWaitsForTheCloseFrameOfTheClient"),
	},
	{
		Name: "mask-not-rotated", Promise: "RFC 6455", Says: "A frame that comes in pieces is garbage.",
		Edit:   Edit{"relay/conn/inbound.go", "h.key = unmask(p, h.key)", "unmask(p, h.key)"},
		Suites: in("relay/conn", "FuzzMessages"),
	},
	{
		Name: "read-buffer-shared-in-use", Promise: "RFC 6455", Says: "A client that pauses within a frame is read from another's buffer.",
		Edit:   Edit{"relay/conn/inbox.go", "if b.from == b.to {\n\t\tb.pool.Put", "if true {\n\t\tb.pool.Put"},
		Suites: in("relay/conn", "TestAPauseWithinAFrame"),
	},
	{
		Name: "close-reason-unchecked", Promise: "RFC 6455", Says: "A close frame whose reason is not UTF-8 counts as a proper one.",
		Edit:   Edit{"relay/conn/inbound.go", "case !utf8.Valid(p[2:]):", "case !utf8.Valid(p[2:]) && false:"},
		Suites: in("relay/conn", "TestAnswersThatAreDueComeBeforeTheCloseFrame"),
	},
	{
		Name: "close-code-not-echoed", Promise: "RFC 6455", Says: "A client is answered with another code than its own.",
		Edit:   Edit{"relay/conn/inbound.go", "EndError{Cause: cause, Err", "EndError{Cause: causeClient, Err"},
		Suites: in("relay/conn", "TestAnswersThatAreDueComeBeforeTheCloseFrame"),
	},
	{
		Name: "blocked-address-served", Promise: "NIP-86", Says: "Somebody from a blocked address gets a connection.",
		Edit:   Edit{"relay/conn/server.go", "\tif o.Blocked(peer.Addr) {\n\t\tblock(w, o)\n\t\treturn\n\t}\n", ""},
		Suites: in("relay/conn", "TestBlockedAddressesGetNothing"),
	},
	{
		Name: "blocked-address-reads-pages", Promise: "NIP-86", Says: "Somebody from a blocked address reads what is served over HTTP.",
		Edit:   Edit{"relay/conn/server.go", "if o.Blocked(ClientPeer(r, o.TrustedProxies).Addr) {", "if o == nil {"},
		Suites: in("relay/conn", "TestTheGateHoldsForAllOfHTTP"),
	},
	{
		Name: "blocked-during-the-upgrade", Promise: "G4", Says: "An address that is blocked during its upgrade keeps its connection.",
		Edit:   Edit{"relay/conn/link.go", "if o.Blocked(peer.Addr) { // it may", "if false { // it may"},
		Suites: in("relay/conn", "TestWhoIsBlockedDuringTheUpgradeIsEnded"),
	},
	{
		Name: "frames-decided-by-nobody", Promise: "G4", Says: "The writer takes a frame about which it should have asked.",
		Edit:   Edit{"relay/conn/link.go", "Sight: o.Sight, OnEnded", "OnEnded"},
		Suites: in("relay/conn", "TestFramesAreDecidedAboutWithWhatTheRelaySays"),
	},
}
