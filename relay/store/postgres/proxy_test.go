package postgres_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/postgres"
)

// proxy stands between a store and its database. It loses the answer to the first
// message with a text in it: it passes the message on, waits for the answer, and cuts
// the connection instead of passing that back.
type proxy struct {
	listener net.Listener
	target   string
	text     []byte
	cuts     atomic.Int64 // how often it may still cut
	group    errgroup.Group
}

func newProxy(t *testing.T, database, text string, cuts int64) (_ *proxy, through string) {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, target: u.Host, text: []byte(text)}
	p.cuts.Store(cuts)
	p.group.Go(p.accept)
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		_ = p.group.Wait() // connections end as they may
	})
	u.Host = l.Addr().String()
	return p, u.String()
}

func (p *proxy) accept() error {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return nil
		}
		database, err := net.Dial("tcp", p.target)
		if err != nil {
			return err
		}
		var lose atomic.Bool
		p.group.Go(func() error {
			p.forward(client, database, &lose)
			return database.Close()
		})
		p.group.Go(func() error {
			buf := make([]byte, 1<<16)
			for {
				n, err := database.Read(buf)
				if err != nil || lose.Load() {
					return client.Close()
				}
				if _, err := client.Write(buf[:n]); err != nil {
					return err
				}
			}
		})
	}
}

// forward passes on what the client sends.
func (p *proxy) forward(client io.Reader, database io.Writer, lose *atomic.Bool) {
	buf := make([]byte, 1<<20)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(buf[:n], p.text) && p.cuts.Add(-1) >= 0 {
			lose.Store(true)
		}
		if _, err := database.Write(buf[:n]); err != nil {
			return
		}
	}
}

// The commit arrived and its answer did not: what the caller hears is what is stored.
func TestALostAnswerIsMadeUpFor(t *testing.T) {
	t.Parallel()
	database := server.Start(t).Database(t)
	direct := reopen(t, database, postgres.Options{})
	p, through := newProxy(t, database, "the answer is lost", 1)
	s := reopen(t, through, postgres.Options{})
	other := note(1, "other")
	require.NoError(t, write(t, direct, store.Write{Event: other}).Err)
	e := note(1, "the answer is lost")
	w := store.Write{Event: e, Controls: []store.Control{{Scopes: []string{"relay"}}}}
	require.Equal(t, store.Outcome{Position: 2, Last: 3}, write(t, s, w))
	require.Zero(t, p.cuts.Load(), "the proxy has cut once, and nothing was sent again")
	require.Equal(t, map[store.Position]string{1: other.ID, 2: e.ID}, log(t, direct))
	info, err := s.Log(t.Context())
	require.NoError(t, err)
	require.Equal(t, store.Position(3), info.Head, "and nothing was committed twice")
	require.Equal(t, store.Outcome{Position: 4, Last: 4}, write(t, s, store.Write{Event: note(1, "next")}))
}
