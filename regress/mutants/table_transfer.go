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
		Name: "copy-not-compared", Promise: "migrate copy", Says: "A copy that differs passes for one that does not.",
		Edit:   Edit{"relay/store/transfer/sum.go", "\tif original != copied {\n", "\tif original.Events != copied.Events {\n"},
		Suites: in("relay/store/transfer", "TestDifferencesAreFound"),
	},
}
