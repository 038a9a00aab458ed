package mutants

// storeContract are the suites that every store passes.
func storeContract(tests ...string) []Suite {
	return append(in("relay/store/embedded", append(tests, "TestStoreKeepsTheContract")...), in("relay/store/storetest", "TestFakeKeepsTheContract")...)
}

// deletionReadsAll takes away the look at the indexes, which hides from the
// embedded store's suites what store.MayDelete says.
var deletionReadsAll = Edit{"relay/store/embedded/remove.go", "if err != nil || !related {", "if err != nil || !related && false {"}

// storeMutants remove what the embedded store promises, and what both stores
// take from package store.
var storeMutants = []Mutant{
	{
		Name: "no-fsync", Promise: "E1", Says: "What was acknowledged is lost with the machine's power.",
		Edit:   Edit{"relay/store/embedded/engine.go", "b.Commit(pebble.Sync)", "b.Commit(pebble.NoSync)"},
		Suites: in("relay/store/embedded", "TestCrashLosesNothingAcknowledged"),
	},
	{
		Name: "sync-does-not-wait", Promise: "E1", Says: "What the kernel was only asked to write is acknowledged.",
		Edit:   Edit{"relay/store/aio/aio_linux.go", "\tvar count [8]byte\n", "\tif done := true; done {\n\t\treturn nil\n\t}\n\tvar count [8]byte\n"},
		Suites: in("relay/store/aio", "TestNothingIsLeftToWriteWhenSyncReturns"),
	},
	{
		Name: "sync-failure-hidden", Promise: "E1", Says: "What the disk has refused is acknowledged.",
		Edit:   Edit{"relay/store/aio/aio_linux.go", "e.result < 0", "e.result < -1<<40"},
		Suites: in("relay/store/aio", "TestTheKernelsAnswerIsTheError"),
	},
	{
		Name: "answer-not-asked-for-before", Promise: "E1", Says: "In a container that may submit and not ask for the answer, no commit ever succeeds.",
		Edit:   Edit{"relay/store/aio/aio_linux.go", "s.ended(0); err != nil {", "s.ended(0); err != nil && false {"},
		Suites: in("relay/store/aio", "TestWhatAFilterRefusesIsDoneWithout"),
	},
	{
		Name: "commit-failure-hidden", Promise: "E1", Says: "What could not be written is acknowledged.",
		Edit:   Edit{"relay/store/embedded/writer.go", "\t\t\t\tr.Fail(fmt.Errorf(\"commit: %w\", err))\n", "\t\t\t\t_ = fmt.Errorf\n"},
		Suites: in("relay/store/embedded", "TestFullDiskRefusesCommitsServesReadsAndRecovers"),
	},
	{
		Name: "lost-log-begins-anew", Promise: "E1", Says: "A store whose log was removed starts as an empty one, without a word.",
		Edit:   Edit{"relay/store/embedded/lost.go", "if !begun {", "if false && !begun {"},
		Suites: in("relay/store/embedded", "TestAFolderThatLostEverythingIsRefused"),
	},
	{
		Name: "lost-log-same-history", Promise: "R1", Says: "Who resumes at a relay that lost its newest events is never told of what came in their place.",
		Edit:   Edit{"relay/store/embedded/open.go", "err == nil && anew &&", "err == nil && anew && false &&"},
		Suites: in("relay/store/embedded", "TestAFolderThatLostItsNewestEventsSaysSo"),
	},
	{
		Name: "failed-log-taken-for-lost", Promise: "E1", Says: "A first start on a disk that did not take its log leaves a folder that no start opens.",
		Edit:   Edit{"relay/store/embedded/guard.go", "\tif g.stays(to) {\n", "\tif false && g.stays(to) {\n"},
		Suites: in("relay/store/embedded", "TestALogThatFailedIsNoneThatWasRemoved"),
	},
	{
		Name: "log-removed-before-the-next", Promise: "E1", Says: "A start that cannot make its log leaves none, and the next one takes that for a loss.",
		Edit:   Edit{"relay/store/embedded/guard.go", "!g.health.logged.Load()", "!g.health.logged.Load() && false"},
		Suites: in("relay/store/embedded", "TestALogStaysUntilThereIsAnotherOne"),
	},
	{
		Name: "last-log-removed", Promise: "E1", Says: "A log is removed for one that exists in memory alone.",
		Edit:   Edit{"relay/store/embedded/guard.go", "\tif g.stays(name) {\n", "\tif false && g.stays(name) {\n"},
		Suites: in("relay/store/embedded", "TestALogThatFailedIsNoneThatWasRemoved"),
	},
	{
		Name: "head-not-written", Promise: "E3", Says: "After a restart positions are given a second time.",
		Edit:   Edit{"relay/store/embedded/txn.go", "if len(t.rows) > 0 {\n\t\tt.set(keyHead", "if len(t.rows) < 0 {\n\t\tt.set(keyHead"},
		Suites: in("relay/store/embedded", "TestReopenKeepsEverything"),
	},
	{
		Name: "tie-to-the-highest-id", Promise: "E2", Says: "Of two versions of one second the wrong one stays.",
		Edit:   Edit{"relay/store/embedded/entry.go", "return bytes.Compare(e.id[:], o.id[:]) < 0", "return bytes.Compare(e.id[:], o.id[:]) > 0"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "tie-to-the-highest-id-everywhere", Promise: "E2", Says: "Of two versions of one second the wrong one stays.",
		Edit:   Edit{"relay/store/order.go", "return a.ID < b.ID", "return a.ID > b.ID"},
		Suites: in("relay/store/storetest", "TestFakeKeepsTheContract"),
	},
	{
		Name: "older-version-replaces", Promise: "E2", Says: "An old version that comes late replaces the newer one.",
		Edit:   Edit{"relay/store/embedded/txn.go", "if stored.before(&entry{at: r.at, id: r.id}) {", "if false && stored.before(&entry{at: r.at, id: r.id}) {"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "older-version-stays", Promise: "E2", Says: "The version that was replaced is still served.",
		Edit:   Edit{"relay/store/embedded/txn.go", "return nil, t.remove(stored.position, store.VoidReplaced)", "return nil, nil"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "batch-blind-to-itself", Promise: "E2", Says: "Two events of one commit do not know of each other.",
		Edit:   Edit{"relay/store/embedded/txn.go", "if value, changed := t.overlay[string(key)]; changed {", "if value, changed := t.overlay[string(key)]; changed && false {"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "duplicate-stored", Promise: "E2", Says: "An event is stored twice.",
		Edit:   Edit{"relay/store/embedded/txn.go", "if len(value) > 0 {\n\t\treturn store.Outcome{Position", "if false {\n\t\treturn store.Outcome{Position"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "deleted-comes-back", Promise: "E2", Says: "A deleted event that is sent again is stored again.",
		Edit:   Edit{"relay/store/embedded/remove.go", "\tt.decide(tombKey(target, request.pubkey), []byte{})\n", ""},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "deleted-version-comes-back", Promise: "E2", Says: "A deleted version that is sent again is stored again.",
		Edit:   Edit{"relay/store/embedded/remove.go", "if !ok || beUint64(until) < request.at {", "if ok && beUint64(until) < request.at {"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "deletion-of-the-newer", Promise: "E2", Says: "A deletion removes a version that was made after it.",
		Edit:   Edit{"relay/store/embedded/remove.go", "if err != nil || stored.at > request.at {", "if err != nil {"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "deletion-by-anybody", Promise: "E2", Says: "Anybody deletes anybody's events.",
		Edit:   Edit{"relay/store/deletion.go", "slices.Contains(Owners(target), request.PubKey)", "slices.Contains(Owners(target), target.PubKey)"},
		And:    []Edit{deletionReadsAll},
		Suites: storeContract(),
	},
	{
		Name: "deletion-of-deletions", Promise: "E2", Says: "Deleting a deletion brings back what it forbade.",
		Edit:   Edit{"relay/store/deletion.go", "target.Kind != KindDeletion && ", ""},
		And:    []Edit{deletionReadsAll},
		Suites: storeContract(),
	},
	{
		Name: "deletion-of-anybodys-address", Promise: "E2", Says: "A deletion that names another author's address removes one's own.",
		Edit:   Edit{"relay/store/deletion.go", " || pubkey != author {", " || pubkey == \"\" {"},
		Suites: storeContract(),
	},
	{
		Name: "deletion-reads-all", Promise: "E2", Says: "A stranger's request that names large events stops the writer for seconds.",
		Edit:   deletionReadsAll,
		Suites: in("relay/store/embedded", "TestDeletionReadsNoEventThatStays"),
	},
	{
		Name: "gift-wrap-not-deletable", Promise: "E2", Says: "A recipient cannot delete a gift wrap.",
		Edit:   Edit{"relay/store/deletion.go", "if e.Kind != KindGiftWrap {", "if e.Kind == KindGiftWrap {"},
		Suites: storeContract(),
	},
	{
		Name: "removed-stays-indexed", Promise: "E2", Says: "Index entries of removed events stay and lead nowhere.",
		Edit:   Edit{"relay/store/embedded/txn.go", "\tr.indexKeys(t.unset)\n", ""},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "removal-without-a-row", Promise: "E2", Says: "A removal leaves no trace in the log.",
		Edit:   Edit{"relay/store/embedded/remove.go", "\trow := t.push(store.Entry{", "\trow := uint64(0)\n\t_ = (store.Entry{"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "expired-stored", Promise: "E2", Says: "An event that has expired is stored.",
		Edit:   Edit{"relay/store/embedded/txn.go", "case r.event.Expired(t.now.Unix()):", "case false:"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "expired-never-swept", Promise: "E2", Says: "Expired events fill the disk.",
		Edit:   Edit{"relay/store/embedded/txn.go", "if expires != 0 {\n\t\tt.set(dueKey", "if false {\n\t\tt.set(dueKey"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "expired-served", Promise: "NIP-40", Says: "An expired event is served until the sweep.",
		Edit:   Edit{"relay/store/embedded/entry.go", "return e.expires != 0 && e.expires <= now", "return e.expires < 0 && now < 0"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "ephemeral-kept", Promise: "E2", Says: "Ephemeral events stay in the log.",
		Edit:   Edit{"relay/store/embedded/txn.go", "\tt.set(dueKey(due.Unix(), uint32(due.Nanosecond()), position), nil)\n", "\t_ = due\n"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "limit-not-clamped", Promise: "NIP-11", Says: "A limit over the relay's is served.",
		Edit:   Edit{"relay/store/order.go", "limit <= 0 || o.MaxLimit > 0 && limit > o.MaxLimit {", "limit <= 0 {"},
		Suites: storeContract(),
	},
	{
		Name: "limit-zero-is-none", Promise: "NIP-01", Says: "A limit of 0 is served as if there were none.",
		Edit:   Edit{"relay/store/order.go", "if f.LimitZero {", "if false {"},
		Suites: storeContract(),
	},
	{
		Name: "terms-not-compared", Promise: "G4", Says: "What was allowed before a revocation is written after it.",
		Edit:   Edit{"relay/store/embedded/write.go", "if epoch != terms[i].Epoch {", "if epoch != terms[i].Epoch && false {"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "terms-blind-to-the-commit", Promise: "G4", Says: "A revocation is not seen by what shares its commit.",
		Edit:   Edit{"relay/store/embedded/write.go", "\t\tif !ok {\n\t\t\tepoch = t.marks", "\t\tif !ok || true {\n\t\t\tepoch = t.marks"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "terms-after-the-event", Promise: "G4", Says: "A permission that moved is hidden by another refusal.",
		Edit:   Edit{"relay/store/embedded/txn.go", "\tif epoch, moved := t.moved(terms); moved {\n", "\tif refused, err := t.refusal(r, marked); refused != nil {\n\t\treturn store.Outcome{Err: refused}, err\n\t}\n\tif epoch, moved := t.moved(terms); moved {\n"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "epoch-not-moved", Promise: "G4", Says: "A control row leaves the epochs of its scopes.",
		Edit:   Edit{"relay/store/embedded/write.go", "\t\tt.fresh.epochs[scope] = store.Position(position)\n", ""},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "epoch-not-written", Promise: "G4", Says: "After a restart a decision from before a revocation holds again.",
		Edit:   Edit{"relay/store/embedded/write.go", "\t\tt.set(epochKey(scope), binary.BigEndian.AppendUint64(nil, position))\n", ""},
		Suites: in("relay/store/embedded", "TestReopenKeepsPermissions"),
	},
	{
		Name: "marks-not-read-again", Promise: "G4", Says: "After a failure the epochs are not those of the log.",
		Edit:   Edit{"relay/store/embedded/store.go", "\ts.engine, s.marks = e, m\n", "\tif s.engine = e; s.marks == nil {\n\t\ts.marks = m\n\t}\n"},
		Suites: in("relay/store/embedded", "TestPermissionsFollowTheLogAfterABrokenSync"),
	},
	{
		Name: "also-without-its-event", Promise: "E2", Says: "What follows from an event is written although the event was refused.",
		Edit:   Edit{"relay/store/embedded/write.go", "\tif err != nil || out.Err != nil {\n\t\treturn out, err\n\t}\n\tif out.Frame", "\tif err != nil {\n\t\treturn out, err\n\t}\n\tif out.Frame"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "control-row-not-indexed", Promise: "G4", Says: "After a restart a revocation is forgotten.",
		Edit:   Edit{"relay/store/embedded/write.go", "\tt.set(controlKey(position), row)\n", ""},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "banned-comes-back", Promise: "NIP-86", Says: "A banned event that is sent again is stored again.",
		Edit:   Edit{"relay/store/embedded/txn.go", "err != nil || banned {", "err != nil || banned && false {"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "banned-stays", Promise: "NIP-86", Says: "A banned event is still served.",
		Edit:   Edit{"relay/store/embedded/write.go", "if err == nil && len(value) > 0 {", "if err == nil && len(value) > 1<<20 {"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "vanished-comes-back", Promise: "NIP-62", Says: "An event from before its author's request to vanish is stored again.",
		Edit:   Edit{"relay/store/embedded/txn.go", "if t.vanished(r) {", "if t.vanished(r) && false {"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "vanished-comes-back-later", Promise: "NIP-62", Says: "A request to vanish is forgotten when the relay is started again.",
		Edit:   Edit{"relay/store/embedded/write.go", "\tt.set(vanishKey(key), binary.BigEndian.AppendUint64(nil, uint64(x.Until)))\n", ""},
		Suites: in("relay/store/embedded", "TestReopenKeepsPermissions"),
	},
	{
		Name: "earlier-request-to-vanish-counts", Promise: "NIP-62", Says: "A second request to vanish, of an earlier time, takes back the first.",
		Edit:   Edit{"relay/store/embedded/write.go", "ok && until >= x.Until {", "ok && until == x.Until {"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "request-to-vanish-vanishes", Promise: "NIP-62", Says: "A request to vanish is refused because of another one.",
		Edit:   Edit{"relay/store/control.go", "if e.Kind == KindVanish {", "if false {"},
		Suites: append(in("relay/store", "TestWhatAnErasureSelects"), in("relay/store/storetest", "TestFakeKeepsTheContract")...),
	},
	{
		Name: "erasure-removes-twice", Promise: "E2", Says: "An event that was removed while an erasure looked for it is removed again.",
		Edit:   Edit{"relay/store/embedded/erase.go", "if beUint64(value) != found[i].position {", "if false {"},
		And:    []Edit{{"relay/store/embedded/erase.go", "\t\tvalue, _, err := t.get(idKey(found[i].id))\n", "\t\t_, _, err := t.get(idKey(found[i].id))\n"}},
		Suites: in("relay/store/embedded", "TestErasureBesideDeletionsAndAppends"),
	},
	{
		Name: "erasure-reads-all", Promise: "NIP-62", Says: "The erasure of a key that many mention stops the writer for seconds.",
		Edit:   Edit{"relay/store/embedded/erase.go", "return kind == store.KindGiftWrap }", "return kind != 0 }"},
		Suites: in("relay/store/embedded", "TestErasureReadsNoEventThatStays"),
	},
	{
		Name: "hidden-served", Promise: "G4", Says: "A reader is sent stored events that it may not see.",
		Edit:   Edit{"relay/store/embedded/snapshot.go", "all := union{walks: plain, sight: sight, skip: ranking.Has}", "all := union{walks: plain, skip: ranking.Has}"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "hidden-counted", Promise: "NIP-45", Says: "COUNT tells of events that REQ hides.",
		Edit:   Edit{"relay/store/embedded/snapshot.go", "if visible != nil {\n\t\tall.sight", "if false {\n\t\tall.sight"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "hidden-uses-up-the-limit", Promise: "G4", Says: "Events that are hidden from a reader take the place of others.",
		Edit:   Edit{"relay/store/embedded/union.go", "w.drop(visible)", "w.drop(true)"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "hidden-hinted", Promise: "NIP-67", Says: "EOSE tells of events that are hidden from the reader.",
		Edit:   Edit{"relay/store/embedded/union.go", "err != nil || visible && !skipped {", "err != nil || !skipped {"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "sight-holds-tables", Promise: "G4", Says: "While an outside decision takes its time, memory of the database's is not given back.",
		Edit:   Edit{"relay/store/embedded/snapshot.go", "\t\tif err := r.release(); err != nil {\n\t\t\treturn false, err\n\t\t}\n", ""},
		Suites: in("relay/store/embedded", "TestNoTableIsOpenWhileASightIsAsked"),
	},
	{
		Name: "sight-under-the-lock", Promise: "G4", Says: "A slow outside decision stops the store from being closed.",
		Edit:   Edit{"relay/store/embedded/snapshot.go", "\ts.mu.Unlock()\n\tdefer s.mu.Lock() // also after a panic: the caller unlocks\n", ""},
		Suites: in("relay/store/embedded", "TestSnapshotEndsWhileASightIsAsked"), Hangs: true,
	},
}
