package storetest

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
)

// RunLetters holds a keeper of dead letters to the contract. open returns an empty one.
func RunLetters(t *testing.T, open func(t *testing.T) store.Letters) {
	t.Helper()
	for name, run := range map[string]func(t *testing.T, l store.Letters){
		"are listed by replica and position": lettersAreListed,
		"of one row are one":                 lettersReplace,
		"are taken once":                     lettersAreTaken,
		"are bounded":                        lettersAreBounded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, open(t))
		})
	}
}

func letter(replica string, at store.Position) store.DeadLetter {
	return store.DeadLetter{Position: at, Replica: replica, Attempts: 5, Class: "damaged", At: time.UnixMicro(1_700_000_000_123_456)}
}

func letters(t *testing.T, l store.Letters, most int) []store.DeadLetter {
	t.Helper()
	out, err := l.DeadLetters(t.Context(), most)
	require.NoError(t, err)
	for i := range out {
		out[i].At = time.UnixMicro(out[i].At.UnixMicro())
	}
	return out
}

func lettersAreListed(t *testing.T, l store.Letters) {
	require.Empty(t, letters(t, l, 10))
	for _, d := range []store.DeadLetter{letter("b", 1), letter("a", 300), letter("a", 2)} {
		require.NoError(t, l.PutDeadLetter(t.Context(), d))
	}
	require.Equal(t, []store.DeadLetter{letter("a", 2), letter("a", 300), letter("b", 1)}, letters(t, l, 10))
	require.Equal(t, []store.DeadLetter{letter("a", 2)}, letters(t, l, 1))
}

func lettersReplace(t *testing.T, l store.Letters) {
	require.NoError(t, l.PutDeadLetter(t.Context(), letter("a", 2)))
	again := letter("a", 2)
	again.Attempts, again.Class, again.At = 7, "panic", again.At.Add(time.Hour)
	require.NoError(t, l.PutDeadLetter(t.Context(), again))
	require.Equal(t, []store.DeadLetter{again}, letters(t, l, 10))
}

func lettersAreTaken(t *testing.T, l store.Letters) {
	require.NoError(t, l.PutDeadLetter(t.Context(), letter("a", 2)))
	for _, row := range []struct {
		replica string
		at      store.Position
		found   bool
	}{{"b", 2, false}, {"a", 3, false}, {"a", 2, true}, {"a", 2, false}} {
		found, err := l.TakeDeadLetter(t.Context(), row.replica, row.at)
		require.NoError(t, err)
		require.Equal(t, row.found, found)
	}
	require.Empty(t, letters(t, l, 10))
}

func lettersAreBounded(t *testing.T, l store.Letters) {
	require.NoError(t, l.PutDeadLetter(t.Context(), letter("b", 1)))
	for at := store.Position(1); at <= store.MaxDeadLetters+3; at++ {
		require.NoError(t, l.PutDeadLetter(t.Context(), letter("a", at)))
	}
	all := letters(t, l, 2*store.MaxDeadLetters)
	require.Len(t, all, store.MaxDeadLetters+1)
	require.Equal(t, letter("a", 4), all[0])
	require.Equal(t, letter("b", 1), all[len(all)-1])
}

// PutDeadLetter implements store.Letters.
func (f *Fake) PutDeadLetter(_ context.Context, l store.DeadLetter) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.takeLetterLocked(l.Replica, l.Position)
	f.letters = append(f.letters, l)
	slices.SortFunc(f.letters, func(a, b store.DeadLetter) int {
		return cmp.Or(cmp.Compare(a.Replica, b.Replica), cmp.Compare(a.Position, b.Position))
	})
	first, n := -1, 0
	for i := range f.letters {
		if f.letters[i].Replica == l.Replica {
			if n++; first < 0 {
				first = i
			}
		}
	}
	if n > store.MaxDeadLetters {
		f.letters = slices.Delete(f.letters, first, first+1)
	}
	return nil
}

// TakeDeadLetter implements store.Letters.
func (f *Fake) TakeDeadLetter(_ context.Context, replica string, at store.Position) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.takeLetterLocked(replica, at), nil
}

func (f *Fake) takeLetterLocked(replica string, at store.Position) bool {
	before := len(f.letters)
	f.letters = slices.DeleteFunc(f.letters, func(l store.DeadLetter) bool { return l.Replica == replica && l.Position == at })
	return len(f.letters) < before
}

// DeadLetters implements store.Letters.
func (f *Fake) DeadLetters(_ context.Context, limit int) ([]store.DeadLetter, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.letters[:min(limit, len(f.letters))]), nil
}
