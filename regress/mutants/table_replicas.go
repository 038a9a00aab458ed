package mutants

const (
	ready  = "relay/ready.go"
	lookup = "relay/lookup.go"
)

// replicaMutants remove what makes several processes over one database one relay.
var replicaMutants = []Mutant{
	{
		Name: "ready-far-behind", Promise: "O21", Says: "A balancer sends clients to a replica that has lost its database.",
		Edit:   Edit{ready, "if c.lag > c.maxLag {", "if false {"},
		Suites: in("relay", "TestWhoLostTouchWithTheLogIsNotReady"),
	},
	{
		Name: "ready-without-permissions", Promise: "O16", Says: "A balancer sends clients to a replica whose permissions stand still.",
		Edit:   Edit{ready, "if c.stuck {", "if false {"},
		Suites: in("relay", "TestWhoLostTouchWithTheLogIsNotReady"),
	},
	{
		Name: "listener-away-untold", Promise: "O21", Says: "Nobody is told that a replica hears of others by its poll only.",
		Edit:   Edit{ready, "if !c.hears {", "if false {"},
		Suites: in("relay", "TestWhoLostTouchWithTheLogIsNotReady"),
	},
	{
		Name: "listener-away-not-ready", Promise: "O21", Says: "A lost listener takes a replica out of the balancer that serves as well as before.",
		Edit:   Edit{ready, "out.Ready = len(out.Reasons) == 0", "out.Ready = len(out.Reasons)+len(out.Degraded) == 0"},
		Suites: in("relay", "TestWhoLostTouchWithTheLogIsNotReady"),
	},
	{
		Name: "key-of-each-replica", Promise: "issue 5", Says: "Each replica signs with a key of its own, and clients take lists of the others for forged.",
		Edit:   Edit{"relay/identity.go", "return newIdentity(hex.EncodeToString(secret))", "return newIdentity(hex.EncodeToString(append(secret[:0:0], draft...)))"},
		Suites: in("relay", "TestReplicasTakeTheKeyFromTheirStore"),
	},
	{
		Name: "scribe-of-the-past", Promise: "issue 5", Says: "A replica that lags behind takes back the list of members that another one wrote.",
		Edit:   Edit{lookup, "return p.Await(ctx, info.Control)", "return p.Await(ctx, 0*info.Control)"},
		Suites: in("relay", "TestAScribeKnowsWhatTheWriterOfAListKnew"),
	},
	{
		Name: "scribe-repeats-others", Promise: "issue 5", Says: "Each change of a group is told once by every replica.",
		Edit:   Edit{groups + "/scribe.go", "if len(w.Also) == 0 && s.opt.Book.lists(id, stored) {", "if false {"},
		Suites: in(groups, "TestAListThatAnotherReplicaWroteIsNotWrittenAgain"),
	},
	{
		Name: "scribe-alarmed-by-others", Promise: "issue 5", Says: "A list that another replica has written is a fault in the log and is tried again.",
		Edit:   Edit{groups + "/scribe.go", "case errors.Is(o.Err, store.ErrSuperseded), errors.Is(o.Err, store.ErrDuplicate):", "case errors.Is(o.Err, store.ErrSuperseded):"},
		Suites: in(groups, "TestTheSameListOfTwoReplicasIsWrittenOnce"),
	},
	{
		Name: "start-gives-up", Promise: "issue 5", Says: "A relay that is started together with its database ends at once.",
		Edit:   Edit{"relay/store/postgres/patience.go", "return errors.As(err, &refused)", "return errors.As(err, &refused) && false"},
		Suites: in("relay/store/postgres", "TestADatabaseThatDoesNotAnswerIsAskedAgain"),
	},
	{
		Name: "deploy-stops-older", Promise: "issue 5", Says: "The first replica of a new version keeps all older ones from writing.",
		Edit:   Edit{"relay/store/postgres/migrate.go", "if err == nil && n > 0 {", "if false && n > 0 {"},
		Suites: in("relay/store/postgres", "TestARollingDeployDoesNotStopOlderReplicas"),
	},
	{
		Name: "log-behind-queries", Promise: "O18", Says: "Large queries of some clients keep a replica from following its log.",
		Edit:   Edit{"relay/store/postgres/followed.go", "p.short, err = pgxpool.NewWithConfig(life, short)", "p.short = p.queries"},
		Suites: in("relay/store/postgres", "TestTheLogDoesNotWaitForQueries"),
	},
	{
		Name: "stopped-holder-holds", Promise: "O19", Says: "A replica that is stopped inside its commit stops all others.",
		Edit:   Edit{"relay/store/postgres/options.go", "\t\t\"idle_in_transaction_session_timeout\": milliseconds(idleTimeout),\n", ""},
		Suites: in("relay/store/postgres", "TestAHolderThatSaysNothingMoreHoldsUpNobodyForLong"),
	},
	{
		Name: "deaf-listener-unseen", Promise: "O3", Says: "A listener whose packets are dropped is taken for one that has nothing to hear.",
		Edit:   Edit{"relay/store/postgres/listener.go", "return false, l.conn.Ping(alive)", "_ = alive\n\treturn false, nil"},
		Suites: in("relay/store/postgres", "TestADeafListenerIsNoticed"),
	},
	{
		Name: "listener-returns-without-looking", Promise: "O3", Says: "What was committed while the listener was away waits for the next poll.",
		Edit:   Edit{"relay/store/postgres/listener.go", "s.opt.Logger.Info(\"listening to the database again\")\n\t\t\twake(s.changed)", "s.opt.Logger.Info(\"listening to the database again\")"},
		Suites: in("relay/store/postgres", "TestTheListenerComesBack"),
	},
	{
		Name: "terms-of-others-unread", Promise: "G4", Says: "A replica that lags behind takes an event of a member whom another one has removed.",
		Edit:   Edit{"relay/store/postgres/txn.go", "if epoch, moved := t.moved(terms); moved {", "if epoch, moved := t.moved(terms); moved && false {"},
		Suites: in("relay/store/postgres", "TestReplicasDecideAboutEachOthersWrites"),
	},
	{
		Name: "history-unwatched", Promise: "E3", Says: "After a restore a replica shows nobody what took the positions that it has applied.",
		Edit:   Edit{"relay/history.go", "info.Epoch != h.start.Epoch || info.Head < applied:", "info.Head < applied:"},
		Suites: in("relay", "TestARelayEndsWhenItsLogIsAnotherOne"),
	},
	{
		Name: "rewind-unseen", Promise: "E3", Says: "After a failover that lost commits a replica shows nobody what took their positions.",
		Edit:   Edit{"relay/history.go", "info.Epoch != h.start.Epoch || info.Head < applied:", "info.Epoch != h.start.Epoch || info.Head+applied < applied:"},
		Suites: in("relay", "TestARelayEndsWhenItsLogIsAnotherOne"),
	},
	{
		Name: "filled-again-unseen", Promise: "E3", Says: "After a crash that lost commits a replica shows nobody what took their positions, when the log has grown as far again.",
		Edit:   Edit{"relay/chain.go", " || c.differs(linkOf(&page[0])) {", " {"},
		Suites: in("relay", "TestALogThatWasFilledAgainIsAnotherOne", "TestAReplicaEndsWhenWhatItAppliedWasReplaced"),
	},
	{
		Name: "filled-again-at-the-start-unseen", Promise: "E3", Says: "The row up to which a replica began is not looked at.",
		Edit:   Edit{"relay/chain.go", "\tif err != nil && !errors.Is(err, store.ErrFloor) {\n\t\treturn fmt.Errorf(\"read log: %w\", err)\n\t}\n\tc.remember(page)\n", "\tif err != nil && !errors.Is(err, store.ErrFloor) {\n\t\treturn fmt.Errorf(\"read log: %w\", err)\n\t}\n\tc.remember(page[:0])\n"},
		Suites: in("relay", "TestALogThatWasFilledAgainIsAnotherOne"),
	},
	{
		Name: "lost-end-shown", Promise: "E3", Says: "The row from which a replica goes on is gone, and it waits for the next one.",
		Edit:   Edit{"relay/chain.go", "if len(page) == 0 || page[0].Position != after || ", "if len(page) == 0 {\n\t\treturn nil, nil\n\t}\n\tif "},
		Suites: in("relay", "TestALogThatWasFilledAgainIsAnotherOne"),
	},
	{
		Name: "lost-control-row-unseen", Promise: "E3", Says: "A replica goes on with permissions that were lost, when other ones took their position.",
		Edit:   Edit{"relay/chain.go", "copy(l.name[:], sum[:])", "copy(l.name[:], sum[:0])"},
		Suites: in("relay", "TestALogThatWasFilledAgainIsAnotherOne"),
	},
	{
		Name: "deferred-row-forgets", Promise: "E3", Says: "Who reads a row again forgets the one from which the log goes on.",
		Edit:   Edit{"relay/chain.go", "if after != c.applied() {", "if after > c.applied() {"},
		Suites: in("relay", "TestALogThatWasFilledAgainIsAnotherOne"),
	},
	{
		Name: "damaged-row-is-another-history", Promise: "E3", Says: "A replica ends because of a control row that cannot be read any more.",
		Edit:   Edit{"relay/chain.go", "return was.known && l.known && was.name != l.name", "return was.name != l.name"},
		Suites: in("relay", "TestALogGoesOnFromARowThatHasChanged"),
	},
	{
		Name: "trimmed-row-is-another-history", Promise: "E3", Says: "A replica that has applied all of a trimmed log reads no further.",
		Edit:   Edit{"relay/chain.go", "\t\tif !errors.Is(err, store.ErrFloor) {\n\t\t\treturn nil, err\n", "\t\tif err != nil {\n\t\t\treturn nil, err\n"},
		Suites: in("relay", "TestALogGoesOnFromARowThatHasChanged"),
	},
	{
		Name: "pooler-unseen", Promise: "O19", Says: "Behind a pooler that drops parameters a stopped holder of a lock is waited for.",
		Edit:   Edit{"relay/store/postgres/parameters.go", "if setting != want[name] {", "if false {"},
		Suites: in("relay/store/postgres", "TestAConnectionThatLostItsParametersIsRefused"),
	},
}
