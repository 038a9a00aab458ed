package mutants

// wireMutants make the decoder lenient, the check blind, or the encoder wrong.
var wireMutants = []Mutant{
	{
		Name: "trailing-bytes", Promise: "NIP-01", Says: "What stands behind a message is ignored.",
		Edit:   Edit{"relay/wire/scan.go", "if d.i < len(d.s) {\n\t\treturn d.fail(\"there is", "if false {\n\t\treturn d.fail(\"there is"},
		Suites: in("relay/wire", "TestDecodeRefusesBrokenMessages"),
	},
	{
		Name: "cut-off-message", Promise: "NIP-01", Says: "A message without its end is obeyed.",
		Edit:   Edit{"relay/wire/decode.go", "if !d.take(']') {", "if !d.take(']') && false {"},
		Suites: in("relay/wire", "TestDecodeRefusesEveryCutOffMessage"),
	},
	{
		Name: "event-field-twice", Promise: "NIP-01", Says: "Two parsers read two events from one text.",
		Edit:   Edit{"relay/wire/decode_event.go", "if again || seen&bit != 0 {", "if again {"},
		Suites: in("relay/wire", "TestDecodeEventRefuses"),
	},
	{
		Name: "event-field-missing", Promise: "NIP-01", Says: "An event without all of its fields is taken.",
		Edit:   Edit{"relay/wire/decode_event.go", "if seen != allEventFields {", "if seen == 0 {"},
		Suites: in("relay/wire", "TestDecodeEventRefuses"),
	},
	{
		Name: "surplus-fields-passed-on", Promise: "NIP-01", Says: "Fields that nobody signed are sent to every reader.",
		Edit:   Edit{"relay/wire/decode_event.go", "d.exact && surplus == nil", "d.exact"},
		Suites: in("relay/wire", "TestOtherBytesAreRenderedAnew"),
	},
	{
		Name: "blanks-passed-on", Promise: "NIP-01", Says: "Blanks that one client sends are multiplied to every reader.",
		Edit:   Edit{"relay/wire/scan.go", "case ' ', '\\t', '\\n', '\\r':\n\t\t\td.exact = false\n", "case ' ', '\\t', '\\n', '\\r':\n"},
		Suites: in("relay/wire", "TestOtherBytesAreRenderedAnew"),
	},
	{
		Name: "filter-field-twice", Promise: "NIP-01", Says: "The second of two equal fields replaces the first.",
		Edit:   Edit{"relay/wire/decode_filter.go", "if twice {", "if twice && false {"},
		Suites: in("relay/wire", "TestDecodeFilterRefuses"),
	},
	{
		Name: "filter-field-unknown", Promise: "NIP-01", Says: "A condition that is not understood is dropped, which widens the filter.",
		Edit:   Edit{"relay/wire/decode_filter.go", "return d.refuse(Because(Unsupported, \"filter field \"+firstRunes(key, MaxSubID)))", "return d.skip(maxDepth)"},
		Suites: in("relay/wire", "TestUnknownFilterFieldIsUnsupported"),
	},
	{
		Name: "empty-list-is-no-list", Promise: "NIP-01", Says: "A filter with an empty list matches everything.",
		Edit:   Edit{"relay/wire/decode_filter.go", "\tlist := []string{}\n", "\tvar list []string\n"},
		Suites: in("relay/wire", "TestEmptyListsMatchNothing"),
	},
	{
		Name: "number-with-exponent", Promise: "NIP-01", Says: "1e3 is read as 1.",
		Edit:   Edit{"relay/wire/scan.go", " || strings.IndexByte(\".eE\", d.at()) >= 0", " || strings.IndexByte(\".\", d.at()) >= 0"},
		Suites: in("relay/wire", "TestDecodeEventRefuses"),
	},
	{
		Name: "number-overflows", Promise: "NIP-01", Says: "A number beyond 63 bits wraps around.",
		Edit:   Edit{"relay/wire/scan.go", "if n > (math.MaxInt64-digit)/10 {", "if n > math.MaxUint64/10-1 {"},
		Suites: in("relay/wire", "TestDecodeEventRefuses"),
	},
	{
		Name: "kind-unbounded", Promise: "NIP-01", Says: "A kind over 65535 is stored as another one.",
		Edit:   Edit{"relay/wire/scan.go", "n > math.MaxUint16 {", "n > math.MaxUint32 {"},
		Suites: in("relay/wire", "TestDecodeEventRefuses"),
	},
	{
		Name: "sub-id-unbounded", Promise: "NIP-01", Says: "A subscription id of any length is taken.",
		Edit:   Edit{"relay/wire/decode.go", "utf8.RuneCountInString(id) > MaxSubID {", "utf8.RuneCountInString(id) > 2*MaxSubID {"},
		Suites: in("relay/wire", "TestRefusalNamesTheSubscription"),
	},
	{
		Name: "sub-id-in-bytes", Promise: "NIP-01", Says: "A subscription id of 64 characters that is not English is refused.",
		Edit:   Edit{"relay/wire/decode.go", "len(id) > MaxSubID && utf8", "len(id) > MaxSubID || utf8"},
		Suites: in("relay/wire", "TestSubscriptionIDsAreCountedInRunes"),
	},
	{
		Name: "invalid-utf8", Promise: "RFC 3629", Says: "Text that is not UTF-8 is stored and breaks the readers' connections.",
		Edit:   Edit{"relay/wire/scan_string.go", "if wide && !utf8.ValidString(s) {", "if wide && s == \"\" {"},
		Suites: in("relay/wire", "TestDecodeRefusesStringsThatAreNotJSON"),
	},
	{
		Name: "lone-surrogate", Promise: "NIP-01", Says: "Half a surrogate pair is replaced, and the id no longer fits.",
		Edit:   Edit{"relay/wire/scan_string.go", "r == utf8.RuneError {", "r < 0 {"},
		Suites: in("relay/wire", "TestDecodeRefusesStringsThatAreNotJSON"),
	},
	{
		Name: "id-unchecked", Promise: "NIP-01", Says: "An event under another event's id is stored.",
		Edit:   Edit{"relay/wire/verify.go", "if !e.idMatches() {", "if false {"},
		Suites: in("relay/wire", "TestVerifyRefuses"),
	},
	{
		Name: "signature-unchecked", Promise: "NIP-01", Says: "Forged events are stored.",
		Edit:   Edit{"relay/wire/verify.go", "err != nil || !ok {", "err != nil && !ok {"},
		Suites: in("relay/wire", "TestVerifyRefuses"),
	},
	{
		Name: "canonical-form-escapes", Promise: "NIP-01", Says: "Events with a form feed get an id that other programs do not.",
		Edit:   Edit{"relay/wire/encode.go", "\t\tcase '\\f':\n\t\t\tdst = append(dst, '\\\\', 'f')\n", ""},
		Suites: in("relay/wire", "TestCanonicalFormIsThatOfOtherPrograms"),
	},
	{
		Name: "sub-id-unescaped", Promise: "NIP-01", Says: "A quote in a subscription id makes frames that are not JSON.",
		Edit:   Edit{"relay/wire/encode.go", "case '\"', '\\\\':\n\t\t\tdst = append(dst, '\\\\', c)", "case '\"', '\\\\':\n\t\t\tdst = append(dst, c)"},
		Suites: append(in("relay/wire", "TestStringsAreEscapedAsTheCanonicalForm"), in("handlers", "TestUndecodableMessagesAreAnsweredUnderTheNameOfWhatTheyConcern")...),
	},
	{
		Name: "since-exclusive", Promise: "NIP-01", Says: "An event created at the second of since is not sent.",
		Edit:   Edit{"relay/wire/filter.go", "e.CreatedAt < *f.Since", "e.CreatedAt <= *f.Since"},
		Suites: in("relay/wire", "TestSinceAndUntilAreInclusive"),
	},
	{
		Name: "tags-or-across-names", Promise: "NIP-01", Says: "One of several tag conditions is enough.",
		Edit:   Edit{"relay/wire/filter.go", "if !f.tags[i].matches(e) {\n\t\t\treturn false", "if f.tags[i].matches(e) {\n\t\t\treturn true"},
		Suites: in("relay/wire", "TestMatchingTags"),
	},
	{
		Name: "expires-late", Promise: "NIP-40", Says: "An event is served at the second at which it expires.",
		Edit:   Edit{"relay/wire/event.go", "e.expires != 0 && e.expires <= now", "e.expires != 0 && e.expires < now"},
		Suites: in("relay/wire", "TestExpiration"),
	},
	{
		Name: "many-tags-scanned", Promise: "G8", Says: "One event of many tags holds up the fan-out to everybody.",
		Edit:   Edit{"relay/wire/tags.go", "if len(tags) <= maxScan || x.letters == 0 {", "if len(tags) <= 1<<20 || x.letters == 0 {"},
		Suites: in("relay/wire", "TestManyConditionsOnManyTagsCostLessThanTheEvent"),
	},
	{
		Name: "long-value-hashed", Promise: "G8", Says: "A long value is hashed for every condition that it meets.",
		Edit:   Edit{"relay/wire/tags.go", "len(v) <= f.longest && ", ""},
		Suites: in("relay/wire", "TestLongValueIsNotHashedForShortOnes"),
	},
	{
		Name: "tag-names-fold-case", Promise: "NIP-01", Says: "An event of many tags answers for a name in the other case.",
		Edit:   Edit{"relay/wire/tags.go", "return letter[0] & 63", "return letter[0] & 31"},
		Suites: in("relay/wire", "TestMatchingTags"),
	},
	{
		Name: "equal-filters-kept", Promise: "G8", Says: "One filter that is sent many times is queried, indexed and matched as often.",
		Edit:   Edit{"relay/wire/decode.go", "return merge(filters), true", "return filters, true"},
		Suites: in("relay/wire", "TestEqualFiltersOfAMessageAreMerged"),
	},
	{
		Name: "weight-of-values-only", Promise: "G8", Says: "Filters without values cost nothing of the budget of a connection.",
		Edit:   Edit{"relay/wire/bounds.go", "n += 1 + len(f.Tags) + f.Values()", "n += f.Values()"},
		Suites: in("relay/wire", "TestWeightCountsFiltersTagNamesAndValues"),
	},
	{
		Name: "repost-unread", Promise: "NIP-70", Says: "A protected event is published inside a repost.",
		Edit:   Edit{"relay/wire/event.go", "case embedded.Protected():\n\t\treturn true, nil", "case embedded.Protected():\n\t\treturn false, nil"},
		Suites: in("relay/wire", "TestEmbedsProtected"),
	},
	{
		Name: "repost-of-what-others-read", Promise: "NIP-70", Says: "A protected event is published in a repost that only a lenient client can read.",
		Edit:   Edit{"relay/wire/event.go", "return false, errRepost", "return false, nil"},
		Suites: in("relay/wire", "TestEmbedsProtected"),
	},
	{
		Name: "repost-of-a-repost", Promise: "NIP-70", Says: "A protected event is published two reposts deep.",
		Edit:   Edit{"relay/wire/event.go", "return embedded.EmbedsProtected()\n", "return false, nil\n"},
		Suites: in("relay/wire", "TestEmbedsProtected"),
	},
}
