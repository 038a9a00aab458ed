package negentropy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	peer "github.com/nbd-wtf/go-nostr/nip77/negentropy"
	"github.com/nbd-wtf/go-nostr/nip77/negentropy/storage/vector"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"fencepost/relay/negentropy"
)

// item makes item n; many share a time, some share the beginning of their ids.
func item(n int) negentropy.Item {
	id := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(n)))
	if n%3 == 0 {
		copy(id[:], bytes.Repeat([]byte{0xab}, n%28))
	}
	return negentropy.Item{At: uint64(1_700_000_000 + n/5), ID: id}
}

// sides draws two sets of the items below n.
func sides(rng *rand.Rand, n int, both, left, right float64) (a, b []negentropy.Item) {
	for i := range n {
		switch x := rng.Float64(); {
		case x < both:
			a, b = append(a, item(i)), append(b, item(i))
		case x < both+left:
			a = append(a, item(i))
		case x < both+left+right:
			b = append(b, item(i))
		}
	}
	return a, b
}

// missing is the slow, obvious difference: the sorted ids of a that b lacks.
func missing(a, b []negentropy.Item) []string {
	ids := make(map[string]struct{})
	for _, i := range a {
		ids[hex.EncodeToString(i.ID[:])] = struct{}{}
	}
	for _, i := range b {
		delete(ids, hex.EncodeToString(i.ID[:]))
	}
	return slices.Sorted(maps.Keys(ids))
}

func sorted(ids [][32]byte) []string {
	var out []string
	for _, id := range ids {
		out = append(out, hex.EncodeToString(id[:]))
	}
	slices.Sort(out)
	return out
}

// reconcile runs both of ours and returns the rounds.
func reconcile(t require.TestingT, a, b []negentropy.Item, clientLimit, serverLimit int) (c *negentropy.Client, rounds int) {
	server := negentropy.NewSet(slices.Clone(b))
	c = negentropy.NewClient(negentropy.NewSet(slices.Clone(a)), clientLimit)
	for msg := c.Start(); msg != nil; rounds++ {
		require.Less(t, rounds, 10_000)
		require.LessOrEqual(t, len(msg), clientLimit)
		answer, err := server.Reply(msg, serverLimit)
		require.NoError(t, err)
		require.LessOrEqual(t, len(answer), serverLimit)
		msg, err = c.Next(answer)
		require.NoError(t, err)
	}
	return c, rounds
}

func TestDifferenceIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		share := rapid.SampledFrom([]float64{0, 0.3, 0.9, 0.999, 1}).Draw(rt, "both")
		a, b := sides(rng, rapid.IntRange(0, 3000).Draw(rt, "items"), share, (1-share)*0.6, (1-share)*0.4)
		limits := rapid.SampledFrom([]int{negentropy.MinFrame, 5000, 20_000, 1 << 20})
		c, _ := reconcile(rt, a, b, limits.Draw(rt, "client's limit"), limits.Draw(rt, "server's limit"))
		require.Equal(rt, missing(a, b), sorted(c.Have))
		require.Equal(rt, missing(b, a), sorted(c.Need))
	})
}

// Messages are cut at every kind of place here.
func TestNothingIsMissedInSmallFrames(t *testing.T) {
	t.Parallel()
	for n := 2000; n < 6000; n += 250 {
		a, b := sides(rand.New(rand.NewPCG(uint64(n), 3)), n, 0.8, 0.1, 0.1)
		c, _ := reconcile(t, a, b, negentropy.MinFrame, negentropy.MinFrame)
		require.Equal(t, missing(a, b), sorted(c.Have), "%d items", n)
		require.Equal(t, missing(b, a), sorted(c.Need), "%d items", n)
	}
}

func TestFewDifferencesOfManyTakeFewRounds(t *testing.T) {
	t.Parallel()
	a, b := sides(rand.New(rand.NewPCG(1, 2)), 100_000, 0.9999, 0.00005, 0.00005)
	c, rounds := reconcile(t, a, b, 1<<16, 1<<16)
	require.Equal(t, missing(a, b), sorted(c.Have))
	require.Equal(t, missing(b, a), sorted(c.Need))
	require.LessOrEqual(t, rounds, 6)
}

func TestEqualSetsNeedOneRound(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 31, 32, 5000} {
		a, _ := sides(rand.New(rand.NewPCG(1, 2)), n, 1, 0, 0)
		_, rounds := reconcile(t, a, a, 1<<16, 1<<16)
		require.Equal(t, 1, rounds)
	}
}

func TestItemsThatComeTwiceCountOnce(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2, negentropy.NewSet([]negentropy.Item{item(2), item(1), item(2)}).Len())
}

func theirs(items []negentropy.Item) *vector.Vector {
	v := vector.New()
	for _, i := range items {
		v.Insert(nostr.Timestamp(i.At), hex.EncodeToString(i.ID[:]))
	}
	v.Seal()
	return v
}

// TestTheirClientFindsTheDifference reconciles go-nostr's client with this server.
func TestTheirClientFindsTheDifference(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 5, 100, 4000} {
		for _, limit := range []int{negentropy.MinFrame, 1 << 20} {
			a, b := sides(rand.New(rand.NewPCG(uint64(n), 3)), n, 0.8, 0.1, 0.1)
			server := negentropy.NewSet(slices.Clone(b))
			client := peer.New(theirs(a), 1<<20) // in small frames it misses ids, with its own server too
			have, need := map[string]struct{}{}, map[string]struct{}{}
			var g errgroup.Group
			g.Go(func() error { collect(client.Haves, have); return nil })
			g.Go(func() error { collect(client.HaveNots, need); return nil })
			for msg := client.Start(); msg != ""; {
				raw, err := hex.DecodeString(msg)
				require.NoError(t, err)
				answer, err := server.Reply(raw, limit)
				require.NoError(t, err)
				msg, err = client.Reconcile(hex.EncodeToString(answer))
				require.NoError(t, err)
			}
			require.NoError(t, g.Wait())
			require.Equal(t, missing(a, b), slices.Sorted(maps.Keys(have)), "%d items, limit %d", n, limit)
			require.Equal(t, missing(b, a), slices.Sorted(maps.Keys(need)), "%d items, limit %d", n, limit)
		}
	}
}

func collect(from <-chan string, into map[string]struct{}) {
	for id := range from {
		into[id] = struct{}{}
	}
}

// TestTheirServerIsUnderstood reconciles this client with go-nostr's server.
func TestTheirServerIsUnderstood(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 5, 100, 4000} {
		a, b := sides(rand.New(rand.NewPCG(uint64(n), 4)), n, 0.8, 0.1, 0.1)
		server := peer.New(theirs(b), 1<<20)
		client := negentropy.NewClient(negentropy.NewSet(slices.Clone(a)), 1<<20)
		for msg := client.Start(); msg != nil; {
			answer, err := server.Reconcile(hex.EncodeToString(msg))
			require.NoError(t, err)
			raw, err := hex.DecodeString(answer)
			require.NoError(t, err)
			msg, err = client.Next(raw)
			require.NoError(t, err)
		}
		require.Equal(t, missing(a, b), sorted(client.Have))
		require.Equal(t, missing(b, a), sorted(client.Need))
	}
}

func TestOtherVersionsAreToldOurs(t *testing.T) {
	t.Parallel()
	set := negentropy.NewSet(nil)
	for _, v := range []byte{0x60, 0x62, 0x6f} {
		answer, err := set.Reply([]byte{v, 1, 2, 3}, negentropy.MinFrame)
		require.NoError(t, err)
		require.Equal(t, []byte{0x61}, answer)
		_, err = negentropy.NewClient(set, negentropy.MinFrame).Next([]byte{v})
		require.ErrorIs(t, err, negentropy.ErrMessage)
	}
}

func TestHostileMessagesAreRefused(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("ff", 9) + "7f"
	for name, text := range map[string]string{
		"empty":                         "",
		"no version":                    "00",
		"cut in a bound":                "6101",
		"a bound without end":           "61" + strings.Repeat("80", 100),
		"a time that overflows":         "61" + huge + "0000" + huge + "0000",
		"a number of more than 64 bits": "61" + strings.Repeat("ff", 10) + "7f0000",
		"a prefix longer than an id":    "610021" + strings.Repeat("00", 33) + "00",
		"a prefix of 2^63":              "6100" + huge + "00",
		"an unknown mode":               "61000003",
		"half a fingerprint":            "61000001" + "0011223344556677",
		"more ids than there are":       "61000002" + huge,
		"ids whose bytes overflow":      "61000002" + "88" + strings.Repeat("80", 7) + "00",
		"half an id":                    "6100000201" + strings.Repeat("00", 31),
		"bounds that go back":           "61" + "8500" + "01ff" + "00" + "01" + "0100" + "00",
		"something after infinity":      "61" + "0000" + "00" + "0500" + "00",
	} {
		msg, err := hex.DecodeString(text)
		require.NoError(t, err)
		for n := range 3 {
			a, _ := sides(rand.New(rand.NewPCG(1, 5)), 50*n, 1, 0, 0)
			_, err = negentropy.NewSet(a).Reply(msg, negentropy.MinFrame)
			require.ErrorIs(t, err, negentropy.ErrMessage, name)
			_, err = negentropy.NewClient(negentropy.NewSet(a), negentropy.MinFrame).Next(msg)
			require.ErrorIs(t, err, negentropy.ErrMessage, name)
		}
	}
}

// FuzzReply feeds both sides with anything. What they answer is a message within the
// limit, which the other side can read.
func FuzzReply(f *testing.F) {
	a, b := sides(rand.New(rand.NewPCG(1, 6)), 600, 0.6, 0.2, 0.2)
	left, right := negentropy.NewSet(a), negentropy.NewSet(b)
	client := negentropy.NewClient(left, negentropy.MinFrame)
	for msg := client.Start(); msg != nil; {
		f.Add(msg)
		answer, err := right.Reply(msg, negentropy.MinFrame)
		require.NoError(f, err)
		f.Add(answer)
		msg, err = client.Next(answer)
		require.NoError(f, err)
	}
	f.Add([]byte("\x61\x00\x00\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, msg []byte) {
		answer, err := right.Reply(msg, negentropy.MinFrame)
		if err == nil {
			require.LessOrEqual(t, len(answer), negentropy.MinFrame)
			_, err = negentropy.NewClient(left, negentropy.MinFrame).Next(answer)
			require.NoError(t, err)
		}
		next, err := negentropy.NewClient(left, negentropy.MinFrame).Next(msg)
		if err == nil && next != nil {
			require.LessOrEqual(t, len(next), negentropy.MinFrame)
			_, err = right.Reply(next, negentropy.MinFrame)
			require.NoError(t, err)
		}
	})
}

func BenchmarkReply(b *testing.B) {
	for _, n := range []int{10_000, 200_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			left, right := sides(rand.New(rand.NewPCG(1, 7)), n, 0.999, 0.0005, 0.0005)
			set := negentropy.NewSet(right)
			msg := negentropy.NewClient(negentropy.NewSet(left), 1<<16).Start()
			for b.Loop() {
				if _, err := set.Reply(msg, 1<<16); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
