package storetest

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

var appendCases = map[string]func(t *testing.T, s *subject){
	"no writes give no outcomes": func(t *testing.T, s *subject) {
		require.Empty(t, s.Append(t.Context(), nil))
	},
	"positions are dense and in the order given": func(t *testing.T, s *subject) {
		for round := range 3 {
			out := s.append(notes(round*10, 4)...)
			for i, o := range out {
				require.NoError(t, o.Err)
				require.Equal(t, store.Position(round*4+i+1), o.Position)
			}
		}
	},
	"a duplicate carries the first position": func(t *testing.T, s *subject) {
		n := notes(0, 3)
		out := s.append(n[0], n[1], n[1], n[2], n[0])
		require.ErrorIs(t, out[2].Err, store.ErrDuplicate)
		require.Equal(t, store.Position(2), out[2].Position)
		require.Equal(t, store.Position(3), out[3].Position)
		require.Equal(t, store.Position(1), out[4].Position)
		again := s.append(n[2])[0]
		require.ErrorIs(t, again.Err, store.ErrDuplicate)
		require.Equal(t, store.Position(3), again.Position)
		require.Len(t, s.log(), 3)
	},
	"an event comes back byte for byte": func(t *testing.T, s *subject) {
		e := Draft{Kind: 1, At: start, Content: "\x00 \"\\ \u2028 é \x7f", Tags: nostr.Tags{
			{"e"}, {"t", "", "\x00"}, {"", "x"}, {"T", "UPPER"}, {"t", "upper"},
		}}.Event()
		bare := Draft{Kind: 1, At: start - 1}.Event()
		s.put(e, bare)
		got, _ := s.query(store.QueryOptions{}, nostr.Filter{})
		require.Equal(t, string(e.Raw()), string(got[0].Raw()))
		require.Equal(t, e.Event, got[0].Event)
		require.NotNil(t, got[1].Tags, "no tags is [], never null")
		require.Equal(t, string(bare.Raw()), string(got[1].Raw()))
	},
	"an ephemeral event takes a position and is not stored": func(t *testing.T, s *subject) {
		e := Draft{Kind: 20001, At: start}.Event()
		require.Equal(t, store.Outcome{Position: 1, Last: 1}, s.append(e)[0])
		require.Equal(t, store.Outcome{Position: 2, Last: 2}, s.append(e)[0])
		s.holds()
		rows := s.log()
		require.Equal(t, store.EntryEphemeral, rows[0].Type)
		require.Equal(t, e.ID, rows[1].Event.ID)
	},
	"an ended context stores nothing": func(t *testing.T, s *subject) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		out := s.Append(ctx, []store.Write{{Event: notes(0, 1)[0]}})
		require.ErrorIs(t, out[0].Err, context.Canceled)
		s.holds()
	},
	"concurrent appends keep each caller's order": func(t *testing.T, s *subject) {
		var wg sync.WaitGroup
		positions := make([][]store.Position, 8)
		for caller := range positions {
			wg.Go(func() {
				for _, e := range notes(1000*caller, 20) {
					out := s.Append(t.Context(), []store.Write{{Event: e}})
					positions[caller] = append(positions[caller], out[0].Position)
				}
			})
		}
		wg.Wait()
		seen := make(map[store.Position]bool)
		for _, list := range positions {
			require.IsIncreasing(t, list)
			for _, p := range list {
				require.False(t, seen[p])
				seen[p] = true
			}
		}
		require.Len(t, s.log(), 160)
	},
}

// notes makes n kind 1 events, each one second newer than the one before.
func notes(from, n int) []*wire.Event {
	out := make([]*wire.Event, n)
	for i := range out {
		out[i] = Draft{Kind: 1, At: start + int64(from+i), Content: "note " + strconv.Itoa(from+i)}.Event()
	}
	return out
}
