package mutants

// transferMutants remove what makes a copy of a store whole, and no more than a copy.
var transferMutants = []Mutant{
	{
		Name: "copy-repeats", Promise: "migrate copy", Says: "After a kill between a commit and its answer a part is written twice.",
		Edit:   Edit{"relay/store/embedded/copied.go", "if kept != c.Before || kept.Token", "if kept.Token"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "copy-repeats-postgres", Promise: "migrate copy", Says: "After a kill between a commit and its answer a part is written twice.",
		Edit:   Edit{"relay/store/postgres/copied.go", "if t.copying != c.Before || t.copying.Token", "if t.copying.Token"},
		Suites: in("relay/store/postgres", "TestStoreKeepsTheContract"),
	},
	{
		Name: "copy-into-a-full-store", Promise: "migrate copy", Says: "Two stores are mixed.",
		Edit:   Edit{"relay/store/embedded/copied.go", "kept.Token == \"\" && t.head > 0", "kept.Token == \"\" && t.head > 1<<60"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "copy-without-progress", Promise: "migrate copy", Says: "The progress is lost, and the copy begins anew behind what is there.",
		Edit:   Edit{"relay/store/embedded/copied.go", "\tt.decide(keyCopying, appendCopying(nil, c.After))\n", ""},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "copied-marks-forgotten", Promise: "migrate copy", Says: "Whoever vanished comes back until the copy is opened anew.",
		Edit:   Edit{"relay/store/embedded/copied.go", "\t\tt.fresh.keys[[32]byte(m.Key)] = m.Until\n", ""},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "copied-tomb-hides-event", Promise: "migrate copy", Says: "A stranger's deletion takes a copied event out of the index.",
		Edit:   Edit{"relay/store/embedded/copied.go", "\tif len(value) == 0 {\n\t\tt.decide(id, []byte{})\n\t}\n", "\t_ = value\n\tt.decide(id, []byte{})\n"},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "half-a-copy-served", Promise: "migrate copy", Says: "A relay runs over half a store.",
		Edit:   Edit{"relay/store/embedded/open.go", "if err == nil && !opt.Copying {", "if err != nil && !opt.Copying {"},
		Suites: in("relay/store/embedded", "TestUnfinishedCopyIsNotServed"),
	},
	{
		Name: "half-a-copy-served-postgres", Promise: "migrate copy", Says: "A relay runs over half a store.",
		Edit:   Edit{"relay/store/postgres/copied.go", "if c.Token != \"\" && !c.Done {", "if c.Token == \"\" && !c.Done && false {"},
		Suites: in("relay/store/postgres", "TestUnfinishedCopyIsNotServed"),
	},
	{
		Name: "copy-of-another-continued", Promise: "migrate copy", Says: "The second half comes from another store.",
		Edit:   Edit{"relay/store/transfer/transfer.go", "if c.at.From != info.Epoch {", "if c.at.From == \"\" {"},
		Suites: in("relay/store/transfer", "TestCopyOfAnotherStoreIsNotContinued"),
	},
	{
		Name: "copy-looks-once", Promise: "migrate copy", Says: "A relay that started just before the mark serves what is copied.",
		Edit:   Edit{"relay/copy.go", "\terr := to.alone(ctx)\n\tif err == nil {\n\t\terr = to.take(ctx, from)\n\t}\n", "\terr := to.take(ctx, from)\n"},
		Suites: in("relay", "TestARelayThatComesBeforeTheMarkOfACopyEndsTheCopy"),
	},
	{
		Name: "copy-has-any-key", Promise: "migrate copy", Says: "A copy has the key that a relay made in the target, and ends well.",
		Edit:   Edit{"relay/copy.go", "if err == nil && !bytes.Equal(kept, draft) {", "if err == nil && bytes.Equal(kept, nil) {"},
		Suites: in("relay", "TestACopyHasTheKeyOfTheOriginalOrFails"),
	},
	{
		Name: "copy-of-no-key-has-any", Promise: "migrate copy", Says: "A copy of a store without a key has the one that a relay made in the target.",
		Edit:   Edit{"relay/copy.go", "\t\treturn c.mayHave(ctx, from)\n", "\t\treturn nil\n"},
		Suites: in("relay", "TestACopyHasTheKeyOfTheOriginalOrFails"),
	},
	{
		Name: "copy-leaves-its-mark", Promise: "migrate copy", Says: "A relay whose store a copy had to give up never starts again.",
		Edit:   Edit{"relay/copy.go", "if errors.Is(err, ErrServed) || errors.Is(err, ErrOtherKey) {", "if errors.Is(err, ErrNoStore) {"},
		Suites: in("relay", "TestARelayThatComesBeforeTheMarkOfACopyEndsTheCopy"),
	},
	{
		Name: "half-a-copy-withdrawn", Promise: "migrate copy", Says: "A store with a part of another one is served.",
		Edit:   Edit{"relay/store/transfer/transfer.go", "kept.Done || at.After != 0 || at.Kind != 0 {", "kept.Done {"},
		Suites: in("relay/store/transfer", "TestWithdrawUndoesBeginAndNoMore"),
	},
	{
		Name: "copy-under-a-relay", Promise: "migrate copy", Says: "A relay that a copy did not see serves what is copied.",
		Edit:   Edit{"relay/history.go", "c.Token != \"\" && !c.Done {", "c.Token == \"\" && c.Done {"},
		Suites: in("relay", "TestARelayEndsWhenACopyIntoItsStoreBegins"),
	},
	{
		Name: "withdrawn-copy-refused", Promise: "migrate copy", Says: "A relay does not start although no copy is in its store.",
		Edit:   Edit{"relay/store/copied.go", "withdraws := !c.After.Done && ", "withdraws := c.Before.Done && "},
		Suites: in("relay/store/embedded", "TestStoreKeepsTheContract"),
	},
	{
		Name: "copy-not-compared", Promise: "migrate copy", Says: "A copy that differs passes for one that does not.",
		Edit:   Edit{"relay/store/transfer/sum.go", "\tif original != copied {\n", "\tif original.Events != copied.Events {\n"},
		Suites: in("relay/store/transfer", "TestDifferencesAreFound"),
	},
}
