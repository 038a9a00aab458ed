package embedded_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/embedded"
	"fencepost/relay/store/storetest"
	"fencepost/relay/wire"
)

func openWords(t *testing.T, fs vfs.FS, search bool) *embedded.Store {
	t.Helper()
	s, err := embedded.OpenFS(fs, "data", embedded.Options{Search: search})
	require.NoError(t, err)
	require.Equal(t, search, s.Searches())
	return s
}

// What is stored when search is turned on is found, what was removed meanwhile is not,
// and nothing is left of the index when it is turned off.
func TestTheIndexOfWordsComesAndGoes(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	s := openWords(t, fs, false)
	history(t, s, 1500)
	require.Zero(t, wordKeys(t, s))
	require.NoError(t, s.Close())

	s = openWords(t, fs, true)
	require.Len(t, ask(t, s, nostr.Filter{Search: "note"}), 1500)
	require.Equal(t, []string{note(7).ID}, ask(t, s, nostr.Filter{Search: "note 7"}))
	work, err := embedded.WorkFor(background, s, wire.NewFilter(nostr.Filter{Search: "note 7"}), 10)
	require.NoError(t, err)
	require.Less(t, work, 100, "the rarest word is read")
	_, err = s.Erase(background, store.Erasure{Author: storetest.Key(0), Until: 200}, 1000)
	require.NoError(t, err)
	require.Len(t, ask(t, s, nostr.Filter{Search: "note"}), 1399)
	put(t, s, note(9000))
	require.Equal(t, []string{note(9000).ID}, ask(t, s, nostr.Filter{Search: "9000"}))
	before := wordKeys(t, s)
	require.NoError(t, s.Close())

	s = openWords(t, fs, true)
	require.Equal(t, before, wordKeys(t, s))
	require.NoError(t, s.Close())
	s = openWords(t, fs, false)
	require.Zero(t, wordKeys(t, s))
	put(t, s, note(9001))
	require.NoError(t, s.Close())
	s = openWords(t, fs, true)
	require.Equal(t, before+2, wordKeys(t, s), "two words more")
	require.Equal(t, []string{note(9001).ID}, ask(t, s, nostr.Filter{Search: "9001"}))
	require.NoError(t, s.Close())
}

// A crash while the index is made, or while it is removed, costs time only.
func TestTheMakingOfTheIndexOfWordsGoesOn(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	s := openWords(t, fs, false)
	history(t, s, 1800)
	want := ask(t, s, nostr.Filter{Kinds: []int{1}})
	require.NoError(t, s.Close())
	rng := rand.New(rand.NewPCG(3, 3))
	var mu sync.Mutex // Pebble syncs from several goroutines
	var crashed []*vfs.MemFS
	watched := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if len(crashed) < 12 && strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			crashed = append(crashed, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng}))
		}
		return nil
	}))
	require.NoError(t, openWords(t, watched, true).Close())
	require.Greater(t, len(crashed), 3)
	for _, again := range crashed {
		s := openWords(t, again, true)
		require.Equal(t, want, ask(t, s, nostr.Filter{Search: "note"}))
		require.NoError(t, s.Close())
	}
}

func wordKeys(t *testing.T, s *embedded.Store) int {
	t.Helper()
	n, err := embedded.WordKeys(s)
	require.NoError(t, err)
	return n
}
