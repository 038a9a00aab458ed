package client_test

import (
	"encoding/hex"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/relay/client"
	"fencepost/relay/negentropy"
	"fencepost/relay/wire"
)

var kinds = wire.NewFilter(nostr.Filter{Kinds: []int{0, 1}})

// synced runs a Sync beside a relay that answers as script says.
func synced(t *testing.T, o client.Sync, script func(p peer)) error {
	t.Helper()
	c, p := connect(t, client.Options{})
	var g errgroup.Group
	g.Go(func() error { return c.Sync(t.Context(), o) })
	script(p)
	err := g.Wait()
	hangUp(t, c, p)
	return err
}

func (p peer) changes() *wire.ChangesMessage {
	m, ok := p.receive().(*wire.ChangesMessage)
	require.True(p.t, ok)
	require.True(p.t, m.Removed)
	return m
}

func (p peer) change(sub string, at uint64, ev *wire.Event, removed bool) {
	c := wire.Change{Position: at, Event: ev, Removed: removed}
	p.send(string(c.AppendTo(wire.AppendChangesPrefix(nil, sub))))
}

func (p peer) end(sub string, at uint64, more bool) string {
	mark := wire.Mark{Cursor: wire.CursorAt("E", at, "0102"), More: more}
	p.send(string(wire.AppendChangesEOSE(nil, sub, mark)))
	return mark.Token()
}

func (p peer) fail(sub string, prefix wire.Prefix, log *wire.Log) {
	p.send(string(wire.AppendChangesErr(nil, sub, wire.Because(prefix, "x"), log)))
}

func TestSyncResumesBehindItsTokenUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	a, b := signed(t, "a"), signed(t, "b")
	set := &client.Set{Token: wire.CursorAt("E", 5, a.ID).Token()}
	require.NoError(t, set.Add(a))
	var last string
	require.NoError(t, synced(t, client.Sync{Filter: kinds, Token: set.Token, Keeper: set}, func(p peer) {
		m := p.changes()
		require.Equal(t, set.Token, m.Since.Token())
		require.Equal(t, kinds, m.Filter)
		p.send(`["EVENT","other",` + string(signed(t, "z").Raw()) + `]`)
		p.change(m.ID, 7, b, false)
		token := p.end(m.ID, 8, true)
		second := p.changes()
		require.Equal(t, token, second.Since.Token())
		require.NotEqual(t, m.ID, second.ID)
		p.fail(m.ID, wire.Failed, nil) // the older one's, which comes too late
		p.change(second.ID, 9, a, true)
		last = p.end(second.ID, 9, false)
	}))
	require.Equal(t, []string{b.ID}, set.IDs())
	require.Equal(t, last, set.Token)
}

func TestSyncBeginsAnewWhereItIsTold(t *testing.T) {
	t.Parallel()
	old, kept, missed, late := signed(t, "old"), signed(t, "kept"), signed(t, "missed"), signed(t, "late")
	for _, token := range []string{"", "of another time", wire.CursorAt("F", 5, old.ID).Token()} {
		set := &client.Set{}
		require.NoError(t, set.Add(old))
		require.NoError(t, set.Add(kept))
		require.NoError(t, synced(t, client.Sync{Filter: kinds, Token: token, Keeper: set}, func(p peer) {
			p.fail(p.changes().ID, wire.Resync, &wire.Log{Epoch: "E", Floor: 3, Head: 9})
			require.IsType(t, (*wire.NegOpenMessage)(nil), p.receive())
			p.send(`["NEG-ERR","reconcile","blocked: not here"]`)
			req := p.receive().(*wire.ReqMessage)
			require.Nil(t, req.Filters[0].Until)
			p.send(string(wire.AppendEvent(nil, req.ID, missed)))
			p.send(string(wire.AppendEOSE(nil, req.ID, wire.HintMore)))
			require.Equal(t, req.ID, p.receive().(*wire.CloseMessage).ID)
			second := p.receive().(*wire.ReqMessage)
			require.Equal(t, missed.CreatedAt, *second.Filters[0].Until)
			p.send(string(wire.AppendEvent(nil, second.ID, missed)))
			p.send(string(wire.AppendEvent(nil, second.ID, kept)))
			p.send(string(wire.AppendEOSE(nil, second.ID, wire.HintFinish)))
			p.receive()
			m := p.changes()
			require.Equal(t, wire.Cursor{Epoch: "E", Position: 9}, m.Since, "where the log ended before")
			p.change(m.ID, 10, late, false)
			p.end(m.ID, 11, false)
		}))
		require.ElementsMatch(t, []string{kept.ID, missed.ID, late.ID}, set.IDs())
	}
}

// A relay that reconciles is asked for what is missing only, and what it does not have
// any more is dropped.
func TestSyncComparesWhereTheRelayReconciles(t *testing.T) {
	t.Parallel()
	old, kept, missed := signed(t, "old"), signed(t, "kept"), signed(t, "missed")
	set := &client.Set{}
	require.NoError(t, set.Add(old))
	require.NoError(t, set.Add(kept))
	require.NoError(t, synced(t, client.Sync{Filter: kinds, Token: "lost", Keeper: set}, func(p peer) {
		p.fail(p.changes().ID, wire.Resync, &wire.Log{Epoch: "E", Floor: 3, Head: 9})
		negotiated(p, kept, missed)
		req := p.receive().(*wire.ReqMessage)
		require.Equal(t, []string{missed.ID}, req.Filters[0].IDs)
		p.send(string(wire.AppendEvent(nil, req.ID, missed)))
		p.send(string(wire.AppendEOSE(nil, req.ID, wire.HintFinish)))
		p.receive()
		m := p.changes()
		require.Equal(t, wire.Cursor{Epoch: "E", Position: 9}, m.Since)
		p.end(m.ID, 9, false)
	}))
	require.ElementsMatch(t, []string{kept.ID, missed.ID}, set.IDs())
}

// negotiated answers a negotiation as a relay that has these events.
func negotiated(p peer, events ...*wire.Event) {
	var items []negentropy.Item
	for _, ev := range events {
		id, err := hex.DecodeString(ev.ID)
		require.NoError(p.t, err)
		items = append(items, negentropy.Item{At: uint64(ev.CreatedAt), ID: [32]byte(id)})
	}
	side := negentropy.NewSet(items)
	for {
		var message []byte
		switch m := p.receive().(type) {
		case *wire.NegOpenMessage:
			message = m.Message
		case *wire.NegMsgMessage:
			message = m.Message
		case *wire.NegCloseMessage:
			return
		}
		answer, err := side.Reply(message, 1<<16)
		require.NoError(p.t, err)
		p.send(`["NEG-MSG","reconcile","` + hex.EncodeToString(answer) + `"]`)
	}
}

func TestALiveSyncMovesItsTokenWithEachChange(t *testing.T) {
	t.Parallel()
	a, b := signed(t, "a"), signed(t, "b")
	set := &client.Set{}
	err := synced(t, client.Sync{Filter: kinds, Token: wire.CursorAt("E", 5, a.ID).Token(), Live: true, Keeper: set}, func(p peer) {
		m := p.changes()
		require.True(t, m.Live)
		p.end(m.ID, 5, false)
		p.change(m.ID, 7, b, false)
		p.change(m.ID, 8, a, true)
		p.fail(m.ID, wire.Failed, nil)
	})
	var refused *client.Refusal
	require.ErrorAs(t, err, &refused)
	require.Equal(t, wire.CursorAt("E", 8, a.ID).Token(), set.Token)
	require.Equal(t, []string{b.ID}, set.IDs())
}

func TestSyncGivesUp(t *testing.T) {
	t.Parallel()
	many := signed(t, "many")
	for name, script := range map[string]func(p peer){
		"closed": func(p peer) {
			p.fail(p.changes().ID, wire.Resync, &wire.Log{Epoch: "E", Head: 9})
			p.send(string(wire.AppendClosed(nil, p.receive().(*wire.ReqMessage).ID, wire.Because(wire.Failed, "x"))))
		},
		"one second is larger than a page": func(p peer) {
			p.fail(p.changes().ID, wire.Resync, &wire.Log{Epoch: "E", Head: 9})
			for range 2 {
				req := p.receive().(*wire.ReqMessage)
				p.send(string(wire.AppendEvent(nil, req.ID, many)))
				p.send(string(wire.AppendEOSE(nil, req.ID, wire.HintMore)))
				p.receive()
			}
		},
		"again and again": func(p peer) {
			for range 3 {
				p.fail(p.changes().ID, wire.Resync, &wire.Log{Epoch: "E", Head: 9})
				req := p.receive().(*wire.ReqMessage)
				p.send(string(wire.AppendEOSE(nil, req.ID, wire.HintFinish)))
				p.receive()
			}
		},
		"no token": func(p peer) { p.send(`["CHANGES","` + p.changes().ID + `","EOSE",5]`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Error(t, synced(t, client.Sync{Filter: kinds, Keeper: &client.Set{}}, script))
		})
	}
}

// A page is held in memory, so a relay that does not end it is left.
func TestSyncTakesNoPageWithoutEnd(t *testing.T) {
	t.Parallel()
	c, p := connect(t, client.Options{})
	var g errgroup.Group
	g.Go(func() error { return c.Sync(t.Context(), client.Sync{Filter: kinds, Keeper: &client.Set{}}) })
	p.fail(p.changes().ID, wire.Resync, &wire.Log{Epoch: "E", Head: 9})
	req := p.receive().(*wire.ReqMessage)
	frame := string(wire.AppendEvent(nil, req.ID, signed(t, "again")))
	for range 2*client.MaxPage + 1 {
		p.send(frame)
	}
	require.NoError(t, p.conn.CloseNow())
	require.ErrorContains(t, g.Wait(), "more than it was asked for")
	require.NoError(t, c.Close())
}

func TestASetKeepsOneVersionOfAnAddress(t *testing.T) {
	t.Parallel()
	version := func(at nostr.Timestamp) *wire.Event {
		e := nostr.Event{CreatedAt: at}
		require.NoError(t, e.Sign(testKey))
		return wire.NewEvent(e)
	}
	first, second, third := version(1), version(2), version(3)
	s := &client.Set{}
	for _, ev := range []*wire.Event{second, first, third, second} {
		require.NoError(t, s.Add(ev))
	}
	require.Equal(t, []string{third.ID}, s.IDs())
	require.NoError(t, s.Remove(second.ID))
	require.NoError(t, s.Remove(third.ID))
	require.NoError(t, s.Add(first))
	require.Equal(t, []string{first.ID}, s.IDs(), "nothing newer is left")
	require.NoError(t, s.Retain(func(string) bool { return false }))
	require.Empty(t, s.IDs())
}
