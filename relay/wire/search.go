package wire

import (
	"hash/maphash"
	"slices"
	"strings"
	"unicode/utf8"
)

// What search looks at (NIP-50): the words of an event, as many different ones as MaxWords.
const (
	MaxWords  = 4096 // of an event; what follows them is not looked at
	maxWord   = 64   // bytes; a longer word counts as its beginning
	maxRepeat = 3    // of a word in the score of an event
	damping   = 16   // words that are added to the length of every event in its score
)

// query is what the search of a filter asks for.
type query struct {
	words  []string // in order, each once; all of them must be there
	hashes []uint64 // of words, in the same order
	none   bool     // there is text in it, and no word: it matches nothing
}

// newQuery reads a search; nil for one that asks for nothing, such as extensions alone.
func newQuery(text string) *query {
	q := &query{}
	asks := false
	for _, field := range strings.Fields(text) {
		if isExtension(field) {
			continue
		}
		asks = true
		eachWord(field, func(word string) bool {
			q.words = append(q.words, word)
			return true
		})
	}
	if !asks {
		return nil
	}
	slices.Sort(q.words)
	q.words = slices.Compact(q.words)
	for _, w := range q.words {
		q.hashes = append(q.hashes, maphash.String(wordSeed, w))
	}
	q.none = len(q.words) == 0
	return q
}

// isExtension reports whether a field is "key:value", which is ignored (NIP-50): a letter
// begins the key, letters and digits are the rest of it, and a word begins the value.
func isExtension(field string) bool {
	key, value, ok := strings.Cut(field, ":")
	if !ok || key == "" || value == "" {
		return false
	}
	for i := range len(key) {
		c := key[i] | 0x20
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || (key[i] < '0' || key[i] > '9') && key[i] != '_' && key[i] != '-') {
			return false
		}
	}
	first, _ := utf8.DecodeRuneInString(value)
	return partOf(first) != between
}

// matches reports whether every word is one of e's.
func (q *query) matches(e *Event) bool {
	if q.none {
		return false
	}
	words := e.wordHashes()
	for _, h := range q.hashes {
		if _, ok := slices.BinarySearch(words, h); !ok {
			return false
		}
	}
	return true
}

// Searches reports whether the filter asks for words (NIP-50). One whose search is empty
// or holds nothing but extensions does not: it is a filter without search.
func (f *Filter) Searches() bool { return f.query != nil }

// Words returns the words that the filter asks for, in order, each once; all of them must
// be in an event. None when it searches for what is no word, which no event has.
func (f *Filter) Words() []string {
	if f.query == nil {
		return nil
	}
	return f.query.words
}

// Score says how well e, which matches, answers the search: how often the words of the
// search occur, each counted up to 3 times, divided by 16 more than the words of e. It is
// 0 for a filter that does not search. It reads the whole text.
func (f *Filter) Score(e *Event) float64 {
	if f.query == nil || f.query.none {
		return 0
	}
	counts := make([]int, len(f.query.words))
	hits, length := 0, 0
	e.eachWord(func(word string) {
		length++
		if i, ok := slices.BinarySearch(f.query.words, word); ok && counts[i] < maxRepeat {
			counts[i]++
			hits++
		}
	})
	return float64(hits) / float64(length+damping)
}
