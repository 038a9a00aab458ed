package mutants

const (
	nip98   = "relay/web/nip98"
	verify  = nip98 + "/verify.go"
	ledger  = nip98 + "/memory.go"
	manage  = "relay/manage"
	changes = manage + "/change.go"
)

// operatorMutants remove what signed requests are checked for, and what a call of
// the operator waits for.
var operatorMutants = []Mutant{
	{
		Name: "token-unsigned", Promise: "NIP-98", Says: "Anybody manages the relay in the operator's name.",
		Edit:   Edit{verify, "if err := e.Verify(); err != nil {", "if err := e.Validate(); err != nil {"},
		Suites: in(nip98, "TestWhatIsNoTokenOfTheRequestIsRefused"),
	},
	{
		Name: "token-used-again", Promise: "NIP-98", Says: "Who has seen a signed request sends it once more.",
		Edit:   Edit{verify, "case !first:", "case false && !first:"},
		Suites: append(in(nip98, "TestATokenIsGoodOnceWithinItsWindow"), in("relay/web", "TestASignedCallCannotBeSentAgainOrElsewhere")...),
	},
	{
		Name: "token-forgotten-early", Promise: "NIP-98", Says: "A token is good a second time in the last second of its window.",
		Edit:   Edit{verify, "int64(e.CreatedAt)+seconds+1", "int64(e.CreatedAt)+seconds"},
		Suites: in(nip98, "TestATokenIsGoodOnceWithinItsWindow"),
	},
	{
		Name: "token-good-after-its-window", Promise: "NIP-98", Says: "A request that was held up uses a token again that its first user is forgotten for.",
		Edit:   Edit{ledger, "ok || !now.Before(until)", "ok"},
		Suites: in(nip98, "TestATokenThatComesToTheLedgerTooLateIsNotGood"),
	},
	{
		Name: "token-window", Promise: "NIP-98", Says: "Tokens of any age are good.",
		Edit:   Edit{verify, "distance > seconds ||", "false ||"},
		Suites: in(nip98, "TestATokenIsGoodOnceWithinItsWindow"),
	},
	{
		Name: "outstanding-forgotten", Promise: "NIP-62", Says: "What a crash kept from being erased stays in the store for ever.",
		Edit:   Edit{"relay/permissions.go", "\t\t\t\tp.left = append(p.left, x)\n", "\t\t\t\t_ = x\n"},
		Suites: in("relay", "TestAStartFindsWhatIsOutstanding"),
	},
	{
		Name: "erased-without-success", Promise: "NIP-62", Says: "What could not be erased at once is not tried again.",
		Edit:   Edit{"relay/purge.go", "\t\t\tbackoff = min(2*backoff, purgePatience)\n\t\t\tcontinue\n", "\t\t\tbackoff = min(2*backoff, purgePatience)\n"},
		Suites: in("relay", "TestErasingIsTriedAgain"),
	},
	{
		Name: "token-from-before", Promise: "NIP-98", Says: "A token that was used is good again after a restart.",
		Edit:   Edit{verify, "time.Unix(int64(e.CreatedAt), 0).Before(v.o.Since)", "time.Unix(int64(e.CreatedAt)+1, 0).Before(v.o.Since)"},
		Suites: in(nip98, "TestATokenFromBeforeTheLedgerBeganIsRefused"),
	},
	{
		Name: "token-future", Promise: "NIP-98", Says: "Tokens can be made for later.",
		Edit:   Edit{verify, "|| distance < -seconds", ""},
		Suites: in(nip98, "TestATokenIsGoodOnceWithinItsWindow"),
	},
	{
		Name: "token-kind", Promise: "NIP-98", Says: "Any event with such tags lets its holder in.",
		Edit:   Edit{verify, "if e.Kind != Kind {", "if e.Kind < 0 {"},
		Suites: in(nip98, "TestWhatIsNoTokenOfTheRequestIsRefused"),
	},
	{
		Name: "token-of-another-url", Promise: "NIP-98", Says: "Another relay sends on what was signed for it.",
		Edit:   Edit{nip98 + "/url.go", "return ok && got == want", "return ok && (got == want || got != \"\")"},
		Suites: in(nip98, "TestWhatIsNoTokenOfTheRequestIsRefused", "TestURLsAreComparedInOneForm"),
	},
	{
		Name: "token-of-another-body", Promise: "NIP-98", Says: "A signed request is sent with another body.",
		Edit:   Edit{verify, "case ok && payload != hash(body):", "case ok && payload == \"\":"},
		Suites: in(nip98, "TestWhatIsNoTokenOfTheRequestIsRefused"),
	},
	{
		Name: "token-without-body", Promise: "NIP-98", Says: "A body goes along that nobody has signed.",
		Edit:   Edit{verify, "case !ok && len(body) > 0:", "case false:"},
		Suites: in(nip98, "TestWhatIsNoTokenOfTheRequestIsRefused"),
	},
	{
		Name: "stranger-remembered", Promise: "NIP-98", Says: "Strangers fill the ledger until the operator's tokens find no room.",
		Edit:   Edit{verify, "\tif may != nil {\n", "\tif err := v.use(r.Context(), e); err != nil {\n\t\treturn \"\", err\n\t}\n\tif may != nil {\n"},
		Suites: in(nip98, "TestWhoIsNotLetInCostsTheLedgerNothing"),
	},
	{
		Name: "ledger-unbounded", Promise: "NIP-98", Says: "Signed requests take memory without bound.",
		Edit:   Edit{ledger, "if len(m.ids) >= m.max {", "if len(m.ids) < 0 {"},
		Suites: in(nip98, "TestAFullMemoryFailsAndForgetsInTime"),
	},
	{
		Name: "refusal-prefixed-twice", Promise: "NIP-98", Says: "A refusal that has a prefix of its own is told with a second one before it.",
		Edit:   Edit{verify, "errors.As(err, &reason) // with", "_ = errors.As // with"},
		Suites: in(nip98, "TestARefusalKeepsItsOwnPrefix"),
	},
	{
		Name: "managed-by-anybody", Promise: "NIP-86", Says: "Every key may manage the relay.",
		Edit:   Edit{"relay/web/manage.go", "if pubkey != c.Relay.PubKey {", "if pubkey == \"\" {"},
		Suites: in("relay/web", "TestRequestsThatAreNoCallAreRefused"),
	},
	{
		Name: "call-unbounded", Promise: "NIP-86", Says: "A call takes memory without bound before anybody knows who sent it.",
		Edit:   Edit{"relay/web/manage.go", "http.MaxBytesReader(w, r.Body, maxCall)", "http.MaxBytesReader(w, r.Body, maxCall<<10)"},
		Suites: in("relay/web", "TestRequestsThatAreNoCallAreRefused"),
	},
	{
		Name: "managed-before-in-force", Promise: "NIP-86", Says: "The operator is told that a key is banned while it still reads.",
		Edit:   Edit{changes, "return a.await(ctx, out.Last)", "return nil"},
		Suites: in(manage, "TestTheAnswerWaitsForTheFollower"),
	},
	{
		Name: "managed-from-an-older-state", Promise: "G4", Says: "A change that lost a race is lost without a word.",
		Edit:   Edit{changes, "err = a.await(ctx, out.Position)\n", "return nil\n"},
		Suites: in(manage, "TestAPlanFromAnOlderStateIsMadeAnew"),
	},
	{
		Name: "folder-ignored-for-a-database", Promise: "operation", Says: "An export of a named folder is that of another store.",
		Edit:   Edit{"cmd/fencepost/settings.go", "if s.Data != \"\" && c.Store.Postgres.URL != \"\" {", "if false {"},
		Suites: in("cmd/fencepost", "TestAFolderIsNotIgnoredForADatabase"),
	},
	{
		Name: "call-sent-twice", Promise: "operation", Says: "A signed call whose connection was lost is made again.",
		Edit:   Edit{"cmd/fencepost/signed.go", "onceListening(ctx, refused, func", "onceListening(ctx, notListening, func"},
		Suites: in("cmd/fencepost", "TestCallIsSentOnce"),
	},
}
