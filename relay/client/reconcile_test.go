package client_test

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/relay/client"
	"fencepost/relay/negentropy"
	"fencepost/relay/wire"
)

var all = wire.NewFilter(nostr.Filter{})

// reconciled runs Reconcile against what script does as the relay.
func reconciled(t *testing.T, own []client.Stamp, script func(p peer)) (have, need []string, err error) {
	t.Helper()
	c, p := connect(t, client.Options{})
	var g errgroup.Group
	g.Go(func() error { script(p); return nil })
	have, need, err = c.Reconcile(t.Context(), all, own)
	require.NoError(t, g.Wait())
	hangUp(t, c, p)
	return have, need, err
}

func stamp(e *wire.Event) client.Stamp { return client.Stamp{At: e.CreatedAt, ID: e.ID} }

func TestReconcileFindsTheDifference(t *testing.T) {
	t.Parallel()
	ours, both, theirs := signed(t, "ours"), signed(t, "both"), signed(t, "theirs")
	have, need, err := reconciled(t, []client.Stamp{stamp(ours), stamp(both)}, func(p peer) {
		var items []negentropy.Item
		for _, e := range []*wire.Event{both, theirs} {
			i := negentropy.Item{At: uint64(e.CreatedAt)}
			_, _ = hex.Decode(i.ID[:], []byte(e.ID))
			items = append(items, i)
		}
		set := negentropy.NewSet(items)
		for {
			switch m := p.receive().(type) {
			case *wire.NegOpenMessage:
				answer, _ := set.Reply(m.Message, negentropy.MinFrame)
				p.send(string(wire.AppendNegMsg(nil, m.ID, answer)))
			case *wire.NegMsgMessage:
				answer, _ := set.Reply(m.Message, negentropy.MinFrame)
				p.send(string(wire.AppendNegMsg(nil, m.ID, answer)))
			default:
				return // NEG-CLOSE
			}
		}
	})
	require.NoError(t, err)
	require.Equal(t, []string{ours.ID}, have)
	require.Equal(t, []string{theirs.ID}, need)
}

func TestReconcileTellsWhoDoesNotReconcile(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{`["NOTICE","ERROR: bad msg: unknown cmd"]`, `["CLOSED","reconcile","unsupported: x"]`} {
		_, _, err := reconciled(t, nil, func(p peer) {
			p.receive()
			p.send(answer)
		})
		require.ErrorIs(t, err, client.ErrNoReconciling)
	}
	var refusal *client.Refusal
	_, _, err := reconciled(t, nil, func(p peer) {
		p.receive()
		p.send(`["NEG-ERR","other","closed: x"]`)
		p.send(`["NEG-ERR","reconcile","blocked: this query is too big"]`)
	})
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "blocked: this query is too big", refusal.Text)
	_, _, err = reconciled(t, nil, func(p peer) {
		p.receive()
		p.send(`["NEG-MSG","reconcile","610003"]`)
	})
	require.ErrorIs(t, err, negentropy.ErrMessage)
}

func TestFetchIDsAsksForAllInPages(t *testing.T) {
	t.Parallel()
	c, p := connect(t, client.Options{})
	var ids []string
	for i := range 150 {
		ids = append(ids, signed(t, string(rune('a'+i))).ID)
	}
	event := signed(t, "a")
	var asked []string
	var g errgroup.Group
	g.Go(func() error {
		for range 2 {
			m := p.receive().(*wire.ReqMessage)
			asked = append(asked, m.Filters[0].IDs...)
			p.send(string(wire.AppendEvent(nil, m.ID, event)))
			p.send(string(wire.AppendEOSE(nil, m.ID, wire.HintFinish)))
			p.receive() // CLOSE
		}
		return nil
	})
	n := 0
	require.NoError(t, c.FetchIDs(t.Context(), ids, func(*wire.Event) error { n++; return nil }))
	require.NoError(t, g.Wait())
	slices.Sort(ids)
	slices.Sort(asked)
	require.Equal(t, ids, asked)
	require.Equal(t, 2, n)
	hangUp(t, c, p)
}
