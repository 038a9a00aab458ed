package storetest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"fencepost/lifecycle/fence"
	"fencepost/relay/store"
)

var (
	modelStreams = []fence.Stream{{Owner: Key(0), Name: "a"}, {Owner: Key(0), Name: "b"}, {Owner: Key(1), Name: "a"}}
	modelTokens  = []string{"one", "two", "three", "four", "five", "six"}
)

func (m *model) token(t *rapid.T) fence.Token {
	return fence.TokenOf(rapid.SampledFrom(modelTokens).Draw(t, "token"))
}

// admission is mostly under the token that the fence has before the call.
func (m *model) admission(t *rapid.T) *store.Fence {
	f := &store.Fence{Stream: rapid.SampledFrom(modelStreams).Draw(t, "stream"), Token: m.token(t)}
	if state := m.fenceOf(t, m.fake, f.Stream); state.Exists() && rapid.IntRange(0, 3).Draw(t, "wrong token") > 0 {
		f.Token = state.Token
	}
	if rapid.IntRange(0, 3).Draw(t, "cursor") == 0 {
		f.Cursor = []byte(rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "new cursor"))
	}
	return f
}

func (m *model) changeFence(t *rapid.T) store.Write {
	c := &fence.Change{New: m.token(t), Active: rapid.IntRange(0, 4).Draw(t, "active") > 0, Lease: m.lease(t)}
	s := rapid.SampledFrom(modelStreams).Draw(t, "stream")
	if state := m.fenceOf(t, m.fake, s); state.Exists() && rapid.Bool().Draw(t, "of the owner") {
		c.Expected = state.Token
	}
	if rapid.IntRange(0, 2).Draw(t, "keep") == 0 && c.Expected != (fence.Token{}) {
		c.New = c.Expected
	}
	return store.Write{Fence: &store.Fence{Stream: s, Change: c}}
}

// lease is long enough for no history where the store has a clock of its own.
func (m *model) lease(t *rapid.T) time.Duration {
	if _, own := m.real.(Elapser); own {
		return time.Hour
	}
	return time.Duration(rapid.IntRange(1, 60).Draw(t, "lease")) * time.Second
}

func (m *model) fenceOf(t require.TestingT, s store.Store, stream fence.Stream) fence.State {
	state, _, err := s.Fence(context.Background(), stream)
	require.NoError(t, err)
	return state
}

func (m *model) compareFences(t *rapid.T) {
	_, own := m.real.(Elapser)
	for _, s := range modelStreams {
		want, got := m.fenceOf(t, m.fake, s), m.fenceOf(t, m.real, s)
		require.True(t, own || want.Until.Equal(got.Until))
		got.Until = want.Until
		require.Equal(t, want.Append(nil), got.Append(nil))
	}
}
