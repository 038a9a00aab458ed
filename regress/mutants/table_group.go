package mutants

const groups = "relay/access/group"

// groupMutants remove what keeps a group closed and its rules in force (NIP-29).
var groupMutants = []Mutant{
	{
		Name: "group-scope-before-state", Promise: "G4", Says: "A decision from the old state has an epoch that holds.",
		Edit:   Edit{groups + "/apply.go", "\tchange, err := b.fold(&row)\n", "\tfor _, name := range scopes {\n\t\tif g := b.find(strings.TrimPrefix(name, scopePrefix)); g != nil {\n\t\t\tb.move(g, at)\n\t\t\tfor range 1000 {\n\t\t\t\tb.find(\"\")\n\t\t\t}\n\t\t}\n\t}\n\tchange, err := b.fold(&row)\n"},
		Suites: in(groups, "TestStateChangesBeforeTheScopeMoves"),
	},
	{
		Name: "group-scope-not-moved", Promise: "G4", Says: "Frames that were queued for a member who was removed are written.",
		Edit:   Edit{groups + "/apply.go", "\tg.scope.Move(at)\n", ""},
		Suites: in(groups, "TestWhatEndsAGrant", "TestOfTwoEditsAtOnceOneIsMadeAgain"),
	},
	{
		Name: "group-strangers-not-moved", Promise: "G4", Says: "Frames of a group that came after they were queued are never decided about.",
		Edit:   Edit{groups + "/apply.go", "\tb.strangers.Move(at)\n", ""},
		Suites: in(groups, "TestGroupThatComesLaterEndsGrants"),
	},
	{
		Name: "group-strangers-not-named", Promise: "G4", Says: "A decision about an event of no group yet holds for ever.",
		Edit:   Edit{groups + "/sight.go", "if len(scopes) < len(ids) {", "if false {"},
		Suites: in(groups, "TestGroupThatComesLaterEndsGrants"),
	},
	{
		Name: "group-demotion-names-nothing", Promise: "G4", Says: "Who was moderator goes on reading invite codes.",
		Edit:   Edit{groups + "/members.go", "if !sameRoles(old.roles, t.roles) {\n\t\t\tscopes", "if false {\n\t\t\tscopes"},
		Suites: in(groups, "TestWhatEndsAGrant", "TestJoinRacingAppointment", "TestTwoAdminsDemoteEachOther"),
	},
	{
		Name: "group-removal-names-nothing", Promise: "G4", Says: "Who was removed goes on reading.",
		Edit:   Edit{groups + "/members.go", "d.row(row, scope)", "_ = scope\n\td.row(row)"},
		Suites: in(groups, "TestWhatADecisionRestsOn", "TestRemovingMembers"),
	},
	{
		Name: "group-removal-names-all", Promise: "NIP-29", Says: "Strangers who join and leave keep everybody else from writing in a group.",
		Edit:   Edit{groups + "/members.go", "scope := memberScope(row.Group, row.Key)", "scope := scopeOf(row.Group)"},
		Suites: in(groups, "TestWhatADecisionRestsOn", "TestRemovingMembers"),
	},
	{
		Name: "group-staff-leaves-unseen", Promise: "NIP-29", Says: "The last two admins leave a group to nobody, each since the other is there.",
		Edit:   Edit{groups + "/members.go", "if was > plain {\n\t\tscope", "if false {\n\t\tscope"},
		Suites: in(groups, "TestWhatADecisionRestsOn", "TestRemovingMembers"),
	},
	{
		Name: "group-loss-without-a-name", Promise: "G4", Says: "Frames that were queued are written although their reader was removed.",
		Edit:   Edit{groups + "/apply.go", "\tif len(change.Keys) > 0 || change.Everyone {", "\tif false {"},
		Suites: in(groups, "TestALossEndsGrantsWhateverItsRowNames"),
	},
	{
		Name: "group-terms-without-author", Promise: "G4", Says: "An event of a member who was removed meanwhile is published.",
		Edit:   Edit{groups + "/plan.go", "b.terms(nil, ids, ev.PubKey)", "b.terms(nil, ids)"},
		Suites: in(groups, "TestWhatADecisionRestsOn", "TestTheBookIsTheFoldOfItsRows", "TestLeaving"),
	},
	{
		Name: "group-terms-without-targets", Promise: "NIP-29", Says: "Who is put and leaves meanwhile is passed over.",
		Edit:   Edit{groups + "/plan.go", "return b.terms(terms, ids[:1], targetsOf(ev)...)", "return terms"},
		Suites: in(groups, "TestWhatADecisionRestsOn"),
	},
	{
		Name: "group-pins-name-nothing", Promise: "NIP-29", Says: "Of two lists of pins made at once the older one is shown.",
		Edit:   Edit{groups + "/moderate.go", "Tags: pins, Stamp: stamp}, scopeOf(id))", "Tags: pins, Stamp: stamp})"},
		Suites: in(groups, "TestPins"),
	},
	{
		Name: "group-terms-without-h", Promise: "G4", Says: "An event is published in a group that was closed meanwhile.",
		Edit:   Edit{groups + "/plan.go", "\tterms := b.terms(nil, ids, ev.PubKey)\n", "\tvar terms []store.Term\n"},
		Suites: in(groups, "TestEventRacingTheCreationOfItsGroup", "TestDeletingAGroup", "TestOfTwoEditsAtOnceOneIsMadeAgain"),
	},
	{
		Name: "group-terms-without-parents", Promise: "NIP-29", Says: "Two edits at once close a cycle.",
		Edit:   Edit{groups + "/plan.go", "return b.climb(b.terms(terms, []string{parent}, ev.PubKey), parent)", "return terms"},
		Suites: in(groups, "TestEditsThatCloseACycleTogether", "TestEditRacingAChangeAboveItsParent"),
	},
	{
		Name: "group-terms-without-the-chain", Promise: "NIP-29", Says: "A change above the new parent closes a cycle.",
		Edit:   Edit{groups + "/plan.go", "if above == \"\" {", "if true {"},
		Suites: in(groups, "TestEditRacingAChangeAboveItsParent"),
	},
	{
		Name: "group-terms-without-children", Promise: "NIP-29", Says: "Deleting a group undoes an edit of its child.",
		Edit:   Edit{groups + "/plan.go", "return b.terms(terms, b.under(ids[0]))", "return terms"},
		Suites: in(groups, "TestDeletionRacingAChild", "TestChildrenOfADeletedGroupBecomeRoots"),
	},
	{
		Name: "group-cycles", Promise: "NIP-29", Says: "A group becomes its own ancestor.",
		Edit:   Edit{groups + "/create.go", "case slices.Contains(chain, r.id):", "case slices.Contains(chain, r.id) && false:"},
		Suites: in(groups, "TestCyclesAreRefused"),
	},
	{
		Name: "group-parent-without-consent", Promise: "NIP-29", Says: "Anybody places a group under that of another.",
		Edit:   Edit{groups + "/create.go", "case as.rank < admin:", "case false:"},
		Suites: in(groups, "TestPlacingAGroupUnderAnother", "TestMovingAGroup"),
	},
	{
		Name: "group-hidden-parent-shows", Promise: "NIP-29", Says: "Somebody who is no member learns that there is a hidden group.",
		Edit:   Edit{groups + "/create.go", "as.deleted || as.secret() && old.parent != want", "as.deleted"},
		Suites: in(groups, "TestPlacingAGroupUnderAnother"),
	},
	{
		Name: "group-private-to-all", Promise: "NIP-29", Says: "Everybody reads a private group.",
		Edit:   Edit{groups + "/group.go", "if (g.meta.private || g.meta.hidden && tellsMetadata(ev) || hides(ev)) && !g.anyLocked(keys) {", "if hides(ev) && !g.anyLocked(keys) {"},
		Suites: in(groups, "TestWhoSeesWhat"),
	},
	{
		Name: "group-deleted-is-read", Promise: "NIP-29", Says: "What was said in a deleted group is still served.",
		Edit:   Edit{groups + "/group.go", "\tif g.deleted {\n\t\treturn false\n\t}\n\tif relayMade", "\tif relayMade"},
		Suites: in(groups, "TestWhoSeesWhat", "TestDeletingAGroup"),
	},
	{
		Name: "group-codes-are-read", Promise: "NIP-29", Says: "Any reader finds a valid invite code.",
		Edit:   Edit{groups + "/group.go", "if ev.Kind != kindJoin && ev.Kind != kindCreateInvite {", "if true {"},
		Suites: in(groups, "TestWhoSeesWhat"),
	},
	{
		Name: "group-hidden-metadata", Promise: "NIP-29", Says: "The metadata of a hidden group is served to everybody.",
		Edit:   Edit{groups + "/group.go", "\t\treturn m.hidden\n", "\t\treturn false\n"},
		Suites: in(groups, "TestWhoSeesWhat", "TestFiltersThatAreClosed"),
	},
	{
		Name: "group-member-list-shows", Promise: "NIP-29", Says: "The members of a private group are listed to everybody.",
		Edit:   Edit{groups + "/group.go", "return m.hidden || m.private", "return m.hidden"},
		Suites: in(groups, "TestWhoSeesWhat", "TestFiltersThatAreClosed"),
	},
	{
		Name: "group-one-tag-is-enough", Promise: "NIP-29", Says: "A second h tag opens an event of a private group.",
		Edit:   Edit{groups + "/sight.go", "\t\tfor _, id := range ids {\n\t\t\tif g := b.find(id); g == nil &&", "\t\tfor _, id := range ids[:1] {\n\t\t\tif g := b.find(id); g == nil &&"},
		Suites: in(groups, "TestAnEventOfSeveralGroupsIsSeenByThoseWhoSeeAll", "TestManyHTagsAreAllLookedAt"),
	},
	{
		Name: "group-creation-shows", Promise: "NIP-29", Says: "The creation of a hidden group is told to everybody, since its row comes behind.",
		Edit:   Edit{groups + "/sight.go", "if g := b.find(id); g == nil && !b.announces(ev, keys) || g != nil", "if g := b.find(id); g != nil"},
		Suites: in(groups, "TestTheCreationOfAHiddenGroupIsToldToNobody"),
	},
	{
		Name: "group-edit-shows", Promise: "NIP-29", Says: "The request that hides a group is shown to everybody.",
		Edit:   Edit{groups + "/group.go", "return hidden || private && ev.Kind != kindMetadata", "return false && (hidden || private)"},
		Suites: in(groups, "TestWhoSeesWhat", "TestTheCreationOfAHiddenGroupIsToldToNobody"),
	},
	{
		Name: "group-refusal-proves-hidden", Promise: "NIP-29", Says: "A refused REQ proves that there is a hidden group.",
		Edit:   Edit{groups + "/read.go", "case g.meta.hidden && !told && !g.anyLocked(keys):", "case false:"},
		Suites: in(groups, "TestFiltersThatAreClosed", "TestLossInOneGroupTellsNothingOfAnother"),
	},
	{
		Name: "group-loss-proves-another", Promise: "NIP-29", Says: "A change in one group tells of a hidden other one.",
		Edit:   Edit{groups + "/read.go", "return id == group }", "return true }"},
		Suites: in(groups, "TestLossInOneGroupTellsNothingOfAnother"),
	},
	{
		Name: "group-deletion-proves-hidden", Promise: "NIP-29", Says: "The end of a hidden group is told to those who asked for it in vain.",
		Edit:   Edit{groups + "/fold.go", "return members, !secret, true", "return members, !secret || true, true"},
		Suites: in(groups, "TestWhoseSubscriptionsARowCloses"),
	},
	{
		Name: "group-request-proves-hidden", Promise: "NIP-29", Says: "A refused request proves that there is a hidden group.",
		Edit:   Edit{groups + "/plan.go", "if r.group == nil || r.meet() && !r.admits() {", "if r.group == nil || r.meet() && false {"},
		Suites: in(groups, "TestEveryRefusalHasItsPrefix", "TestRequestsCannotTellAHiddenGroupFromNone"),
	},
	{
		Name: "group-post-tells-rules", Promise: "NIP-29", Says: "Refused posts tell a stranger the rules of a hidden group.",
		Edit:   Edit{groups + "/post.go", "r.group != nil && r.meet() {", "r.group != nil && r.meet() && false {"},
		Suites: in(groups, "TestPostsAndCreationsTellNothingOfAHiddenGroupButThatItIs"),
	},
	{
		Name: "group-references-tell", Promise: "NIP-29", Says: "A stranger finds out which events there are in a private group.",
		Edit:   Edit{groups + "/post.go", "if r.group != nil && !r.as.member && (", "if r.group != nil && false && ("},
		Suites: in(groups, "TestReferencesTellNothingToWhoMayNotRead"),
	},
	{
		Name: "group-closed-is-open", Promise: "NIP-29", Says: "Anybody joins a closed group.",
		Edit:   Edit{groups + "/members.go", "case !r.as.meta.closed:", "case true:"},
		Suites: in(groups, "TestEveryRefusalHasItsPrefix"),
	},
	{
		Name: "group-codes-never-end", Promise: "NIP-29", Says: "A code goes on admitting after its invitation was deleted.",
		Edit:   Edit{groups + "/fold.go", "if row.Undo {", "if false {"},
		Suites: in(groups, "TestDeletingAnInvitationEndsItsCodes"),
	},
	{
		Name: "group-any-rank", Promise: "NIP-29", Says: "Everybody moderates.",
		Edit:   Edit{groups + "/plan.go", "case r.as.rank >= least:", "case true:"},
		Suites: in(groups, "TestEveryRefusalHasItsPrefix"),
	},
	{
		Name: "group-moderator-removes-admins", Promise: "NIP-29", Says: "A moderator removes the admins.",
		Edit:   Edit{groups + "/members.go", "if old.rank > plain && r.as.rank < admin {", "if false {"},
		Suites: in(groups, "TestWhoMayChangeWhom"),
	},
	{
		Name: "group-without-admin", Promise: "NIP-29", Says: "The last admin is removed and nobody can help but the operator.",
		Edit:   Edit{groups + "/members.go", "if r.operator || hasAdmin(staff) ||", "if true || hasAdmin(staff) ||"},
		Suites: in(groups, "TestWhoMayChangeWhom"),
	},
	{
		Name: "group-restricted-to-nobody", Promise: "NIP-29", Says: "Everybody writes in a restricted group.",
		Edit:   Edit{groups + "/post.go", "case r.as.meta.restricted && !r.as.member:", "case false:"},
		Suites: in(groups, "TestEveryRefusalHasItsPrefix"),
	},
	{
		Name: "group-late-publication", Promise: "NIP-29", Says: "Events of last year appear in a group.",
		Edit:   Edit{groups + "/post.go", "age > 0 && int64(r.ev.CreatedAt) < r.now-age", "age < 0"},
		Suites: in(groups, "TestLatePublicationIsRefused"),
	},
	{
		Name: "group-references-anywhere", Promise: "NIP-29", Says: "A reference to an event of another group counts.",
		Edit:   Edit{groups + "/post.go", "if !slices.ContainsFunc(events, func(ev *wire.Event) bool { return hasH(ev, r.id) }) {", "if !slices.ContainsFunc(events, func(*wire.Event) bool { return true }) {"},
		Suites: in(groups, "TestTimelineReferences"),
	},
	{
		Name: "group-deletes-elsewhere", Promise: "NIP-29", Says: "A moderator deletes events of another group.",
		Edit:   Edit{groups + "/moderate.go", "if !ok || !hasH(ev, r.id) {", "if !ok {"},
		Suites: in(groups, "TestDeletingEvents", "TestPins"),
	},
	{
		Name: "group-edit-opens", Promise: "NIP-29", Says: "A client that forgets a flag opens a private group.",
		Edit:   Edit{groups + "/edit.go", "\t\t\tprivate: old.private, restricted: old.restricted, hidden: old.hidden, closed: old.closed,\n", ""},
		Suites: in(groups, "TestEditingMetadata"),
	},
	{
		Name: "group-metadata-not-newer", Promise: "NIP-29", Says: "Two edits in one second leave the older metadata in place.",
		Edit:   Edit{groups + "/plan.go", "return max(r.now, r.as.stamp+1)", "return r.now"},
		Suites: in(groups, "TestMetadataIsNewerEachTime"),
	},
	{
		Name: "group-joins-push-stamps", Promise: "NIP-29", Says: "Strangers who join and leave push the state of a group into the future.",
		Edit:   Edit{groups + "/plan.go", "\tif is > plain {\n\t\treturn r.stamp()", "\tif true {\n\t\treturn r.stamp()"},
		Suites: in(groups, "TestComingAndGoingStaysInThePresent", "TestPuttingMembers"),
	},
	{
		Name: "group-vanished-stays", Promise: "NIP-62", Says: "A key that vanished is a member of the groups it was put in.",
		Edit:   Edit{groups + "/apply.go", "\t\t\tb.enter(row.Key, g)\n", "\t\t\t_ = added\n"},
		Suites: in(groups, "TestVanishingEndsEveryMembership", "TestAKeyIsKeptWithItsGroups"),
	},
	{
		Name: "group-creator-unbounded", Promise: "NIP-29", Says: "One key takes all the groups that the relay may have.",
		Edit:   Edit{groups + "/apply.go", "\tb.creators[g.creator]++\n", ""},
		Suites: in(groups, "TestGroupsOfOneKeyAreBounded", "TestEveryRefusalHasItsPrefix"),
	},
	{
		Name: "group-metadata-unbounded", Promise: "NIP-29", Says: "A stranger fills the memory with the metadata of groups.",
		Edit:   Edit{groups + "/edit.go", "if m.size() > maxMetadata {", "if false {"},
		Suites: in(groups, "TestEveryRefusalHasItsPrefix"),
	},
	{
		Name: "group-turns-all-the-time", Promise: "NIP-29", Says: "An admin who turns a group private and back keeps the relay from passing on events.",
		Edit:   Edit{groups + "/fold.go", "\t\tg.turned = row.Stamp\n", "\t\tg.turned = 0\n"},
		Suites: in(groups, "TestTurningAGroupIsNotDoneAllTheTime"),
	},
	{
		Name: "group-writes-nothing-new", Promise: "NIP-29", Says: "An edit that changes nothing is written again and again.",
		Edit:   Edit{groups + "/create.go", "case m.equal(old):", "case false:"},
		Suites: in(groups, "TestRequestsThatChangeNothing"),
	},
	{
		Name: "group-removed-joins", Promise: "NIP-29", Says: "Who was removed comes back with the code it had.",
		Edit:   Edit{groups + "/fold.go", "g.barLocked(row.Key, row.Bar)", "g.barLocked(row.Key, false)"},
		Suites: in(groups, "TestWhoWasRemovedCannotJoin"),
	},
	{
		Name: "group-off-without-terms", Promise: "NIP-29", Says: "Two creations of one group around a reload are committed, and no relay starts again.",
		Edit:   Edit{groups + "/plan.go", "\tif len(ids) == 0 {\n\t\treturn nil", "\tif len(ids) == 0 || !b.active() {\n\t\treturn nil"},
		Suites: in(groups, "TestCreationsAroundAReloadAreNoPoison"),
	},
	{
		Name: "group-id-again", Promise: "NIP-29", Says: "Who takes the id of a deleted group is taken for it.",
		Edit:   Edit{groups + "/create.go", "case r.group != nil && r.as.deleted:\n\t\treturn blocked(\"a group with this id was deleted; choose another one\")\n\tcase r.group != nil:", "case r.group != nil && !r.as.deleted:"},
		Suites: in(groups, "TestEveryRefusalHasItsPrefix"),
	},
	{
		Name: "group-state-of-anybody", Promise: "NIP-29", Says: "Anybody tells of the state of a group.",
		Edit:   Edit{groups + "/plan.go", "if ev.PubKey != b.opt.Self {", "if false {"},
		Suites: in(groups, "TestEveryRefusalHasItsPrefix"),
	},
	{
		Name: "group-off-opens", Promise: "NIP-29", Says: "With groups turned off everybody writes in those that were closed.",
		Edit:   Edit{groups + "/plan.go", "if r.book.known(ids) || len(ids) > maxNames && r.book.Hidden() {", "if ids == nil {"},
		Suites: in(groups, "TestEveryRefusalHasItsPrefix"),
	},
	{
		Name: "scribe-at-once", Promise: "NIP-29", Says: "A group that many join has a list of members written for each.",
		Edit:   Edit{groups + "/scribe.go", "entry{at: s.opt.Now().Add(pace)}", "entry{at: s.opt.Now()}"},
		Suites: in(groups, "TestListsAreWrittenAtOnceAndThenOnceASecond"),
	},
	{
		Name: "scribe-names-vanished", Promise: "NIP-62", Says: "The list of admins names a key that vanished.",
		Edit:   Edit{groups + "/fold.go", "\tg.corrected = g.corrected || g.privilegedLocked(key)\n", ""},
		Suites: in(groups, "TestWhatNamesAVanishedKeyIsToldAnew"),
	},
	{
		Name: "scribe-attests-vanished", Promise: "NIP-62", Says: "The metadata of a group name a key that vanished.",
		Edit:   Edit{groups + "/apply.go", "\t\t\tb.attest(g, attested, m.attested)\n", ""},
		Suites: in(groups, "TestWhatNamesAVanishedKeyIsToldAnew"),
	},
	{
		Name: "scribe-forgets", Promise: "NIP-29", Says: "A list that could not be written is never written.",
		Edit:   Edit{groups + "/scribe.go", "\t\tdefault:\n\t\t\ts.later(ctx, ids[i], o.Err)", "\t\tdefault:\n\t\t\tdelete(s.due, ids[i])"},
		Suites: in(groups, "TestAListThatFailsIsTriedAgain"),
	},
	{
		Name: "scribe-writes-all", Promise: "NIP-29", Says: "Every start writes the lists of all groups.",
		Edit:   Edit{groups + "/scribe.go", "if err != nil || !s.opt.Book.lists(id, stored) {", "if err != nil || stored != nil {"},
		Suites: in(groups, "TestOnlyWrongListsAreWrittenAtTheStart"),
	},
	{
		Name: "scribe-list-unbounded", Promise: "NIP-29", Says: "A list of 100,000 members is one event of 7 MB.",
		Edit:   Edit{groups + "/list.go", "keys[:min(len(keys), MaxListed)]", "keys"},
		Suites: in(groups, "TestTheListIsBounded"),
	},
}
