package kill_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay"
	"fencepost/relay/access/control"
	"fencepost/relay/client"
	"fencepost/relay/config"
	"fencepost/relay/wire"
)

const (
	clans   = 4 // groups, each with an admin
	managed = 4 // users of each whom the admin removes and puts back
	walkers = 3 // users of each who join by invite and leave
)

// user is somebody who is in a group or not. One goroutine at a time has it.
type user struct {
	key    int // number of its key
	clan   int
	member bool // after the last request that was answered with OK true
	unsure bool // a request was sent after it that was not answered
}

// settlement is the groups and what was acknowledged about them.
type settlement struct {
	users    [clans][]*user // the managed ones first
	requests int            // makes requests unique
	left     int            // acknowledgements until the relay is killed
	enough   chan struct{}  // closed when left reaches 0

	mu sync.Mutex // guards requests and left
}

func newSettlement() *settlement {
	s := &settlement{}
	for c := range clans {
		for u := range managed + walkers {
			s.users[c] = append(s.users[c], &user{key: 1000 + c*100 + u, clan: c})
		}
	}
	return s
}

func clan(n int) string     { return fmt.Sprintf("clan%d", n) }
func adminOf(clan int) int  { return 2000 + clan }
func secret(key int) string { return fmt.Sprintf("%064x", key) }

func public(t testing.TB, key int) string {
	t.Helper()
	public, err := nostr.GetPublicKey(secret(key))
	require.NoError(t, err)
	return public
}

// TestPermissionsOutliveKill kills the relay with SIGKILL while groups are
// moderated. What was acknowledged is in force afterwards, and everybody may read
// and write exactly when the log says so.
func TestPermissionsOutliveKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds a round: -short is set")
	}
	random := rand.New(rand.NewPCG(3, 4))
	data := filepath.Join(t.TempDir(), "data")
	p := start(t, data)
	s := newSettlement()
	s.found(t, p)
	acknowledged, removed := 0, 0
	n := max(2, *rounds/5)
	for range n {
		s.left, s.enough = 20+random.IntN(150), make(chan struct{})
		acknowledged += s.left
		s.moderateUntilKilled(t, p)
		require.Equal(t, -1, p.end(t))
		members := foldMembers(t, data)
		p = start(t, data)
		removed += s.requireInForce(t, p, members)
	}
	t.Logf("%d rounds, %d changes acknowledged, all in force; %d times a removed member was kept out", n, acknowledged, removed)
}

// found makes the groups, in which nobody but their admins is.
func (s *settlement) found(t *testing.T, p *process) {
	for c := range clans {
		conn := p.dial(t)
		for _, e := range []*wire.Event{
			s.request(t, adminOf(c), c, 9007, nostr.Tag{"private"}, nostr.Tag{"closed"}, nostr.Tag{"restricted"}),
			s.request(t, adminOf(c), c, 9009, nostr.Tag{"code", "welcome"}),
		} {
			require.NoError(t, conn.Publish(t.Context(), e))
		}
		require.NoError(t, conn.Close())
	}
}

// request makes a request that was not made before.
func (s *settlement) request(t testing.TB, key, c, kind int, tags ...nostr.Tag) *wire.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	return event(t, key, kind, fmt.Sprint(s.requests), append([]nostr.Tag{{"h", clan(c)}}, tags...)...)
}

func (s *settlement) acknowledged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left == 0 {
		close(s.enough)
	}
}

// moderateUntilKilled returns when the process was killed and everybody noticed.
func (s *settlement) moderateUntilKilled(t *testing.T, p *process) {
	t.Helper()
	var group sync.WaitGroup
	for _, users := range s.users {
		conn := p.dial(t)
		group.Go(func() { s.act(t, conn, users[:managed], true) })
		for i := range walkers {
			conn := p.dial(t)
			group.Go(func() { s.act(t, conn, users[managed+i:managed+i+1], false) })
		}
	}
	ended := make(chan struct{})
	go func() { defer close(ended); group.Wait() }()
	select {
	case <-s.enough:
	case <-ended:
		require.Fail(t, "everybody gave up before the kill", p.logged())
	}
	p.signal(t, syscall.SIGKILL)
	<-ended
}

// act takes users out of their group and puts them back until the connection ends.
func (s *settlement) act(t testing.TB, conn *client.Client, users []*user, byAdmin bool) {
	defer conn.Close() // its peer is dead
	for n := 0; ; n++ {
		u := users[n%len(users)]
		var e *wire.Event
		switch {
		case byAdmin && u.member:
			e = s.request(t, adminOf(u.clan), u.clan, 9001, nostr.Tag{"p", public(t, u.key)})
		case byAdmin:
			e = s.request(t, adminOf(u.clan), u.clan, 9000, nostr.Tag{"p", public(t, u.key)})
		case u.member:
			e = s.request(t, u.key, u.clan, 9022)
		default:
			e = s.request(t, u.key, u.clan, 9021, nostr.Tag{"code", "welcome"})
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := conn.Publish(ctx, e)
		cancel()
		var refusal *client.Refusal
		switch {
		case errors.As(err, &refusal):
			continue // permissions changed too often
		case err != nil:
			u.unsure = true
			return
		}
		u.member = !u.member
		s.acknowledged()
	}
}

// foldMembers adds up, naively, what the log of a relay that is not running says
// about who is in which group.
func foldMembers(t *testing.T, data string) map[string]map[string]bool {
	t.Helper()
	c := config.Default()
	c.Data = data
	s, err := relay.OpenStore(t.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	rows, err := s.ReadControl(t.Context(), 0, math.MaxInt)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	members := map[string]map[string]bool{}
	for i := range rows {
		row, err := control.Decode(rows[i].Control.Data)
		require.NoError(t, err)
		switch row.Type {
		case control.GroupCreated:
			members[row.Group] = map[string]bool{row.Key: true}
		case control.GroupPut:
			members[row.Group][row.Key] = true
		case control.GroupRemoved:
			delete(members[row.Group], row.Key)
		}
	}
	return members
}

// requireInForce compares what everybody may do with the log, and the log with
// what was acknowledged. It returns how many were kept out.
func (s *settlement) requireInForce(t *testing.T, p *process, members map[string]map[string]bool) (out int) {
	t.Helper()
	for c, users := range s.users {
		for _, u := range users {
			is := members[clan(c)][public(t, u.key)]
			if !u.unsure {
				require.Equal(t, u.member, is, "user %d of %s", u.key, clan(c))
			}
			u.member, u.unsure = is, false
			conn := p.dial(t)
			_, err := conn.Next(t.Context()) // the challenge
			require.NoError(t, err)
			require.NoError(t, conn.Authenticate(t.Context(), secret(u.key)))
			require.Equal(t, is, mayRead(t, conn, clan(c)), "user %d reads %s", u.key, clan(c))
			require.Equal(t, is, mayWrite(t, conn, s.request(t, u.key, c, 9)), "user %d writes in %s", u.key, clan(c))
			require.NoError(t, conn.Close())
			if !is {
				out++
			}
		}
	}
	return out
}

func mayRead(t *testing.T, conn *client.Client, group string) bool {
	t.Helper()
	filter := wire.NewFilter(nostr.Filter{Tags: nostr.TagMap{"h": {group}}, Limit: 1})
	require.NoError(t, conn.Send(t.Context(), wire.AppendReq(nil, "x", []*wire.Filter{filter})))
	m := next(t, conn, "EOSE", "CLOSED")
	if m.Verb == "CLOSED" {
		require.Contains(t, m.Text, "restricted: ")
	}
	return m.Verb == "EOSE"
}

func mayWrite(t *testing.T, conn *client.Client, e *wire.Event) bool {
	t.Helper()
	err := conn.Publish(t.Context(), e)
	var refusal *client.Refusal
	if errors.As(err, &refusal) {
		require.Contains(t, refusal.Text, "restricted: ")
		return false
	}
	require.NoError(t, err)
	return true
}
