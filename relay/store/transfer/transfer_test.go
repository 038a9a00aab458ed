package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
	"fencepost/relay/store/transfer"
	"fencepost/relay/wire"
)

const start = 1_700_000_000

func now() time.Time { return time.Unix(start, 0) }

// source returns a store with some of everything.
func source(t *testing.T) *storetest.Fake {
	t.Helper()
	s := storetest.NewFake(now)
	put := func(w store.Write) { require.NoError(t, s.Append(t.Context(), []store.Write{w})[0].Err) }
	for i := range 700 {
		put(store.Write{Event: note(i)})
		if i%100 == 0 {
			put(store.Write{Controls: []store.Control{{Scopes: []string{"relay"}, Data: fmt.Append(nil, i)}}})
		}
		if i%7 == 0 {
			put(store.Write{Event: storetest.Draft{
				Key: i % 3, Kind: 5, At: start + int64(i), Tags: nostr.Tags{{"e", note(i).ID}, {"e", note(3000 + i).ID}},
			}.Event()})
		}
	}
	for i := range 400 {
		put(store.Write{Ban: []string{note(2000 + i).ID}})
	}
	put(store.Write{Event: storetest.Draft{Kind: 1, Content: string(make([]byte, 3<<20))}.Event()}) // larger than a part
	put(store.Write{Erase: &store.Erasure{Author: storetest.Key(4), Until: start}})
	put(store.Write{Erase: &store.Erasure{Group: "gone"}})
	return s
}

func note(i int) *wire.Event {
	return storetest.Draft{Key: i % 3, Kind: 1, At: int64(i), Content: fmt.Sprint(i)}.Event()
}

func TestCopyHoldsTheSame(t *testing.T) {
	t.Parallel()
	from, to := source(t), storetest.NewFake(now)
	var told []transfer.Count
	require.NoError(t, transfer.Copy(t.Context(), from, to, func(c transfer.Count) { told = append(told, c) }))
	original, copied, err := transfer.Verify(t.Context(), from, to, nil)
	require.NoError(t, err)
	require.Equal(t, original, copied)
	require.Equal(t, original.Count, told[len(told)-1])
	require.Greater(t, len(told), 4, "in parts")
	require.Equal(t, 7, copied.Controls)
	require.Equal(t, 400+2+2*100, copied.Marks)
	for _, want := range []struct {
		err error
		e   *wire.Event
	}{
		{store.ErrDeleted, note(7)},
		{store.ErrDuplicate, note(9)},
		{store.ErrBanned, note(2001)},
		{store.ErrVanished, storetest.Draft{Key: 4, Kind: 1}.Event()},
	} {
		require.ErrorIs(t, to.Append(t.Context(), []store.Write{{Event: want.e}})[0].Err, want.err)
	}
}

func TestSecondCopyDoesNothing(t *testing.T) {
	t.Parallel()
	from, to := source(t), storetest.NewFake(now)
	require.NoError(t, transfer.Copy(t.Context(), from, to, nil))
	before, err := to.Log(t.Context())
	require.NoError(t, err)
	require.NoError(t, transfer.Copy(t.Context(), from, to, func(transfer.Count) { require.Fail(t, "wrote") }))
	after, err := to.Log(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestEmptyStoreCanBeCopied(t *testing.T) {
	t.Parallel()
	from, to := storetest.NewFake(now), storetest.NewFake(now)
	require.NoError(t, transfer.Copy(t.Context(), from, to, nil))
	c, err := to.Copying(t.Context())
	require.NoError(t, err)
	require.True(t, c.Done)
	original, _, err := transfer.Verify(t.Context(), from, to, nil)
	require.NoError(t, err)
	require.Zero(t, original.Count)
}

var errDied = errors.New("died")

// mortal is a target whose process dies at one of its commits, before or after it.
type mortal struct {
	*storetest.Fake
	left  int
	after bool
}

func (m *mortal) Append(ctx context.Context, writes []store.Write) []store.Outcome {
	if m.left--; m.left != 0 {
		return m.Fake.Append(ctx, writes)
	}
	if m.after {
		m.Fake.Append(ctx, writes)
	}
	return []store.Outcome{{Err: errDied}}
}

func TestCopyGoesOnAfterADeathAtAnyCommit(t *testing.T) {
	t.Parallel()
	from := source(t)
	for _, after := range []bool{false, true} {
		deaths := 0
		for n := 1; ; n++ {
			to := &mortal{Fake: storetest.NewFake(now), left: n, after: after}
			err := transfer.Copy(t.Context(), from, to, nil)
			if err == nil {
				break
			}
			require.ErrorIs(t, err, errDied)
			deaths++
			require.NoError(t, transfer.Copy(t.Context(), from, to, nil))
			_, _, err = transfer.Verify(t.Context(), from, to, nil)
			require.NoError(t, err, "died at commit %d, after it: %v", n, after)
		}
		require.Greater(t, deaths, 5)
	}
}

func TestTargetThatIsNotEmptyIsRefused(t *testing.T) {
	t.Parallel()
	from, to := source(t), storetest.NewFake(now)
	require.NoError(t, to.Append(t.Context(), []store.Write{{Event: note(1)}})[0].Err)
	require.ErrorIs(t, transfer.Begin(t.Context(), from, to), transfer.ErrNotEmpty)
	require.ErrorIs(t, transfer.Copy(t.Context(), from, to, nil), transfer.ErrNotEmpty)
	info, err := to.Log(t.Context())
	require.NoError(t, err)
	require.Equal(t, store.Position(1), info.Head)
}

// renamed is a store of another history.
type renamed struct{ *storetest.Fake }

func (r renamed) Log(ctx context.Context) (store.LogInfo, error) {
	info, err := r.Fake.Log(ctx)
	info.Epoch = "another"
	return info, err
}

func TestCopyOfAnotherStoreIsNotContinued(t *testing.T) {
	t.Parallel()
	from := source(t)
	for name, begin := range map[string]func(transfer.Target) error{
		"begun": func(to transfer.Target) error { return transfer.Begin(t.Context(), from, to) },
		"done":  func(to transfer.Target) error { return transfer.Copy(t.Context(), from, to, nil) },
	} {
		to := storetest.NewFake(now)
		require.NoError(t, begin(to), name)
		require.ErrorIs(t, transfer.Copy(t.Context(), renamed{from}, to, nil), transfer.ErrForeign, name)
	}
}

func TestWithdrawUndoesBeginAndNoMore(t *testing.T) {
	t.Parallel()
	from, to := source(t), storetest.NewFake(now)
	require.NoError(t, transfer.Withdraw(t.Context(), to), "of none")
	require.NoError(t, transfer.Begin(t.Context(), from, to))
	require.NoError(t, transfer.Withdraw(t.Context(), to))
	c, err := to.Copying(t.Context())
	require.NoError(t, err)
	require.Equal(t, store.Copying{}, c)

	require.NoError(t, transfer.Begin(t.Context(), renamed{from}, to), "another one can begin")
	require.NoError(t, transfer.Withdraw(t.Context(), to))
	marked := storetest.NewFake(now) // its marks are all that it holds
	marked.Append(t.Context(), []store.Write{{Ban: []string{note(1).ID}}})
	for _, from := range []*storetest.Fake{from, marked} {
		half := &mortal{Fake: storetest.NewFake(now), left: 3}
		require.ErrorIs(t, transfer.Copy(t.Context(), from, half, nil), errDied)
		begun, err := half.Copying(t.Context())
		require.NoError(t, err)
		require.NoError(t, transfer.Withdraw(t.Context(), half))
		kept, err := half.Copying(t.Context())
		require.NoError(t, err)
		require.Equal(t, begun, kept, "something was copied")
	}
	require.NoError(t, transfer.Copy(t.Context(), from, to, nil))
	require.NoError(t, transfer.Withdraw(t.Context(), to))
	c, err = to.Copying(t.Context())
	require.NoError(t, err)
	require.True(t, c.Done)
}

func TestDifferencesAreFound(t *testing.T) {
	t.Parallel()
	from := source(t)
	for name, change := range map[string]store.Write{
		"an event":      {Event: note(5000)},
		"a deletion":    {Event: storetest.Draft{Key: 1, Kind: 5, At: start, Tags: nostr.Tags{{"e", note(1).ID}}}.Event()},
		"a control row": {Controls: []store.Control{{Data: []byte("x")}}},
		"a ban":         {Ban: []string{note(5000).ID}},
		"an unban":      {Unban: []string{note(2000).ID}},
		"an erasure":    {Erase: &store.Erasure{Author: storetest.Key(4), Until: start + 1}},
	} {
		to := storetest.NewFake(now)
		require.NoError(t, transfer.Copy(t.Context(), from, to, nil))
		require.NoError(t, to.Append(t.Context(), []store.Write{change})[0].Err)
		original, copied, err := transfer.Verify(t.Context(), from, to, nil)
		require.ErrorIs(t, err, transfer.ErrDiffers, name)
		require.NotEqual(t, original.Digest, copied.Digest, name)
	}
}

func TestOrderOfControlRowsCounts(t *testing.T) {
	t.Parallel()
	sum := func(data ...string) transfer.Sum {
		s := storetest.NewFake(now)
		for _, d := range data {
			s.Append(t.Context(), []store.Write{{Controls: []store.Control{{Data: []byte(d)}}}})
		}
		sum, err := transfer.SumOf(t.Context(), s, nil)
		require.NoError(t, err)
		return sum
	}
	require.Equal(t, sum("a", "b"), sum("a", "b"))
	require.NotEqual(t, sum("a", "b").Digest, sum("b", "a").Digest)
}

func TestInterruptedCopyGoesOn(t *testing.T) {
	t.Parallel()
	from, to := source(t), storetest.NewFake(now)
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, transfer.Copy(ctx, from, to, func(transfer.Count) { cancel() }), context.Canceled)
	require.NoError(t, transfer.Copy(t.Context(), from, to, nil))
	_, _, err := transfer.Verify(t.Context(), from, to, nil)
	require.NoError(t, err)
}
