package storm_test

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fencepost/relay/access/control"
	"fencepost/relay/client"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// crowd is a relay with a group of many and with many who are subscribed to it over
// real sockets.
type crowd struct {
	parts  *assembled
	timed  *timed
	people []*person
	serial int64

	events, ends, eoses atomic.Int64 // EVENT, CLOSED and EOSE that people have received
}

// person is one connection, subscribed to the group.
type person struct {
	key   string
	ws    *websocket.Conn
	heard atomic.Int64 // EVENT frames
}

// timed measures how long control rows take: from when the follower has picked one
// up until the last subscription has ended.
type timed struct {
	controls interface {
		Apply(ctx context.Context, e *store.Entry) error
	}
	took atomic.Int64 // nanoseconds, of the last row
}

func (t *timed) Apply(ctx context.Context, e *store.Entry) error {
	begin := time.Now()
	defer func() { t.took.Store(int64(time.Since(begin))) }()
	return t.controls.Apply(ctx, e)
}

const gathering = "gathering"

// gather makes the group, of that many members, and has that many people come, of
// whom the first are among the members.
func gather(b *testing.B, private bool, members, people, among int) *crowd {
	c := &crowd{}
	h := assemble(b, townConfig(b), func(a *assembled) {
		c.parts, c.timed = a, &timed{controls: a.controls}
		a.controls = c.timed
	})
	tags := nostr.Tags{}
	if private {
		tags = nostr.Tags{{"private"}}
	}
	secrets := make([]string, people)
	rows := []control.Row{{Type: control.GroupCreated, Group: gathering, Key: public(operator), Tags: tags, Stamp: 1}}
	for i := range members {
		row := control.Row{Type: control.GroupPut, Group: gathering, Key: fmt.Sprintf("%064x", i), Stamp: 1}
		if i < among {
			secrets[i] = nostr.GeneratePrivateKey()
			row.Key = public(secrets[i])
		}
		rows = append(rows, row)
	}
	c.commit(b, rows...)
	var coming errgroup.Group
	coming.SetLimit(32)
	c.people = make([]*person, people)
	for i := range people {
		if secrets[i] == "" {
			secrets[i] = nostr.GeneratePrivateKey()
		}
		coming.Go(func() (err error) {
			c.people[i], err = c.come(b, h.url(0), secrets[i])
			return err
		})
	}
	require.NoError(b, coming.Wait())
	c.await(b, &c.eoses, int64(people))
	return c
}

// come connects, authenticates and subscribes.
func (c *crowd) come(b *testing.B, url, secret string) (*person, error) {
	ws, _, err := websocket.Dial(b.Context(), url, nil)
	if err != nil {
		return nil, err
	}
	b.Cleanup(func() { _ = ws.CloseNow() })
	p := &person{key: public(secret), ws: ws}
	_, data, err := ws.Read(b.Context())
	if err != nil {
		return nil, err
	}
	m, err := wire.DecodeRelay(data)
	if err != nil {
		return nil, err
	}
	e, err := client.AuthEvent(url, m.Text, secret)
	if err != nil {
		return nil, err
	}
	if err := ws.Write(b.Context(), websocket.MessageText, wire.AppendAuthMessage(nil, e)); err != nil {
		return nil, err
	}
	go c.listen(b.Context(), p)
	return p, c.subscribe(b.Context(), p)
}

func (c *crowd) subscribe(ctx context.Context, p *person) error {
	return p.ws.Write(ctx, websocket.MessageText, []byte(`["REQ","x",{"#h":["`+gathering+`"],"kinds":[9],"limit":1}]`))
}

// listen counts what a person hears until the connection ends.
func (c *crowd) listen(ctx context.Context, p *person) {
	for {
		_, data, err := p.ws.Read(ctx)
		switch {
		case err != nil:
			return
		case bytes.HasPrefix(data, []byte(`["EVENT"`)):
			p.heard.Add(1)
			c.events.Add(1)
		case bytes.HasPrefix(data, []byte(`["CLOSED"`)):
			c.ends.Add(1)
		case bytes.HasPrefix(data, []byte(`["EOSE"`)):
			c.eoses.Add(1)
		}
	}
}

// await waits until a counter has come to n.
func (c *crowd) await(b *testing.B, counter *atomic.Int64, n int64) {
	tick := time.NewTicker(100 * time.Microsecond)
	defer tick.Stop()
	for late := time.Now().Add(patience); counter.Load() < n; <-tick.C {
		require.True(b, time.Now().Before(late), "%d of %d", counter.Load(), n)
	}
}

// commit writes control rows, which take something away, and waits until they are
// in force here.
func (c *crowd) commit(b *testing.B, rows ...control.Row) {
	w := store.Write{}
	for _, row := range rows {
		data, err := control.Encode(row)
		require.NoError(b, err)
		w.Controls = append(w.Controls, store.Control{Data: data, Scopes: []string{"g:" + gathering}})
	}
	out := c.parts.store.Append(b.Context(), []store.Write{w})[0]
	require.NoError(b, out.Err)
	require.NoError(b, c.parts.follower.Await(b.Context(), out.Last))
}
