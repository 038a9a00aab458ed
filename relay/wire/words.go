package wire

import (
	"hash/maphash"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// wordSeed is of this process: words are kept as hashes in memory only, and nobody can
// make two words whose hashes meet.
var wordSeed = maphash.MakeSeed()

// Words returns the different words of the event in order, MaxWords at most: those of its
// content and of its title, subject, summary, name and description tags. What is
// encrypted, kinds 4, 13 and 1059, has none.
//
// A word is a run of letters and digits, with the marks on them, in lower case, cut at 64 bytes; a
// character of a script that is written without spaces is a word by itself, and so is an
// emoji or another symbol that is not ASCII.
func (e *Event) Words() []string {
	var words []string
	e.eachWord(func(word string) { words = append(words, word) })
	slices.Sort(words)
	return slices.Compact(words)
}

// wordHashes returns the hashes of the words in order. They are made when a search first
// asks; of two goroutines that make them at once one is late and both are right.
func (e *Event) wordHashes() []uint64 {
	if made := e.words.Load(); made != nil {
		return *made
	}
	hashes := []uint64{}
	e.eachWord(func(word string) { hashes = append(hashes, maphash.String(wordSeed, word)) })
	slices.Sort(hashes)
	hashes = slices.Clip(slices.Compact(hashes))
	e.words.Store(&hashes)
	return hashes
}

// eachWord calls yield with every word, repetitions too, until MaxWords different ones
// have come.
func (e *Event) eachWord(yield func(word string)) {
	if e.Kind == 4 || e.Kind == 13 || e.Kind == 1059 {
		return
	}
	seen := make(map[string]struct{})
	each := func(word string) bool {
		if _, ok := seen[word]; !ok {
			if len(seen) == MaxWords {
				return false
			}
			seen[word] = struct{}{}
		}
		yield(word)
		return true
	}
	if !eachWord(e.Content, each) {
		return
	}
	for _, tag := range e.Tags {
		if len(tag) < 2 {
			continue
		}
		switch tag[0] {
		case "title", "subject", "summary", "name", "description":
			if !eachWord(tag[1], each) {
				return
			}
		}
	}
}

// eachWord calls yield with the words of text in their order until it returns false,
// which it then returns.
func eachWord(text string, yield func(word string) bool) bool {
	begin := -1
	end := func(i int) bool {
		if begin < 0 {
			return true
		}
		word := text[begin:i]
		begin = -1
		return yield(foldWord(word))
	}
	for i, r := range text {
		switch partOf(r) {
		case within:
			if begin < 0 {
				begin = i
			}
		case after: // and by itself it is nothing
		case alone:
			if !end(i) {
				return false
			}
			if !yield(foldWord(text[i : i+utf8.RuneLen(r)])) {
				return false
			}
		default:
			if !end(i) {
				return false
			}
		}
	}
	return end(len(text))
}

// foldWord returns word in lower case, at most maxWord bytes of it.
func foldWord(word string) string {
	if len(word) > 4*maxWord { // of a long run only the beginning counts
		word = word[:4*maxWord]
	}
	word = strings.ToLower(word)
	if len(word) <= maxWord {
		return word
	}
	end := maxWord
	for !utf8.RuneStart(word[end]) {
		end--
	}
	return word[:end]
}

// part is what a character is to words.
type part uint8

const (
	between part = iota
	within
	after // in a word that has begun
	alone // a word by itself
)

// unspaced are the scripts that are written without spaces between words.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

func partOf(r rune) part {
	switch {
	case r < utf8.RuneSelf:
		if c := r | 0x20; c >= 'a' && c <= 'z' || r >= '0' && r <= '9' {
			return within
		}
		return between
	case r == utf8.RuneError:
		return between
	case unicode.IsMark(r):
		return after
	case unicode.In(r, unspaced...), unicode.Is(unicode.So, r):
		return alone
	case unicode.IsLetter(r), unicode.IsNumber(r):
		return within
	default:
		return between
	}
}
