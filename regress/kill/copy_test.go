package kill_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/regress/postgres"
	"fencepost/relay"
	"fencepost/relay/config"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// copiedEvents is how much the store holds that is copied while the copy is killed.
const copiedEvents = 12_000

var copySums = regexp.MustCompile(`original: (.+)\ncopy:     (.+)\n`)

// TestCopyGoesOnAfterKill kills `fencepost migrate copy` with SIGKILL again and again,
// at random moments, on the way into a database and on the way back. What arrives is
// what was there.
func TestCopyGoesOnAfterKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: -short is set")
	}
	database := postgres.Start(t).Database(t)
	dir, back := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "back")
	fillStore(t, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "relay.key"), []byte(strings.Repeat("17", 32)), 0o600))
	random := rand.New(rand.NewPCG(5, 6))
	there := copyUnderKills(t, dir, database, random)
	require.Equal(t, there, copyUnderKills(t, database, back, random))
	key, err := os.ReadFile(filepath.Join(back, "relay.key"))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("17", 32), strings.TrimSpace(string(key)))
	t.Logf("%s", there)

	p := start(t, back) // and it is a store like any other
	c := p.dial(t)
	require.Len(t, stored(t, c, nostr.Filter{Limit: 10}), 10)
	require.NoError(t, c.Close())
}

// copyUnderKills runs the command until it ends by itself, and returns what it printed
// of both stores. Each try lives longer than the one before, so that it comes to an end.
func copyUnderKills(t *testing.T, from, to string, random *rand.Rand) string {
	t.Helper()
	kills := 0
	for life := 50 * time.Millisecond; ; life += life / 10 {
		ctx, cancel := context.WithTimeout(t.Context(), life/2+rand.N(life))
		var out, said bytes.Buffer
		cmd := exec.CommandContext(ctx, binary, "migrate", "copy", "--from", from, "--to", to)
		cmd.Stdout, cmd.Stderr = &out, &said
		err := cmd.Run()
		killed := ctx.Err() != nil
		cancel()
		if killed && err != nil {
			kills++
			continue
		}
		require.NoError(t, err, "after %d kills: %s", kills, &said)
		sums := copySums.FindStringSubmatch(out.String())
		require.Len(t, sums, 3, out.String())
		require.Equal(t, sums[1], sums[2])
		require.Positive(t, kills)
		t.Logf("%s: killed %d times", to, kills)
		return sums[1]
	}
}

// fillStore makes a store with some of everything that is copied.
func fillStore(t *testing.T, dir string) {
	t.Helper()
	c := config.Default()
	c.Data = dir
	s, err := relay.OpenStore(t.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	var writes []store.Write
	flush := func() {
		for _, out := range s.Append(t.Context(), writes) {
			require.NoError(t, out.Err)
		}
		writes = writes[:0]
	}
	for i := range copiedEvents {
		e := unsigned(i)
		writes = append(writes, store.Write{Event: e})
		switch {
		case i%50 == 0:
			row := fmt.Sprintf(`{"v":1,"type":"kinds.disallowed","kinds":[%d]}`, 40_000+i)
			writes = append(writes, store.Write{Controls: []store.Control{{Scopes: []string{"relay"}, Data: []byte(row)}}})
		case i%50 == 1:
			writes = append(writes, store.Write{Ban: []string{e.ID}})
		case i%50 == 2:
			writes = append(writes, store.Write{Erase: &store.Erasure{Group: fmt.Sprint("group", i)}})
		}
		if len(writes) > 1000 {
			flush()
		}
	}
	flush()
}

// unsigned returns event number i, whose signature nobody looks at.
func unsigned(i int) *wire.Event {
	e := nostr.Event{
		Kind: 1, PubKey: fmt.Sprintf("%064x", i%7), CreatedAt: nostr.Timestamp(1_700_000_000 + i),
		Tags: nostr.Tags{{"t", fmt.Sprint(i % 100)}}, Content: strings.Repeat("x", i%500), Sig: strings.Repeat("5", 128),
	}
	e.ID = e.GetID()
	return wire.NewEvent(e)
}
