package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/regress/cluster"
	"fencepost/relay/client"
	"fencepost/relay/wire"
)

// told is one change that a feed has told.
type told struct {
	position uint64
	id       string
	removed  bool
}

// resumer is a client that follows a changes feed, leaves without a word and comes back
// to any replica, where it goes on behind the last position that it was told.
type resumer struct {
	// Set at construction, never changed.
	replicas []*cluster.Replica
	key      int // number of its key; 0: nobody's
	rng      *rand.Rand

	since    wire.Cursor
	told     []told
	sessions int
	errs     map[string]int // text of an ERR -> how often
}

// everything is what a resumer asks for.
var everything = wire.NewFilter(nostr.Filter{Kinds: []int{note, said}})

// run leaves and comes back until ctx ends, and then follows the feed to its end once
// more.
func (r *resumer) run(ctx context.Context) error {
	always := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		stay, cancel := context.WithTimeout(ctx, time.Duration(r.rng.IntN(2500))*time.Millisecond)
		_, err := r.session(stay, true)
		cancel()
		if err != nil {
			return err
		}
		_ = cluster.Wait(ctx, time.Duration(r.rng.IntN(1500))*time.Millisecond) // the loop asks
	}
	late, cancel := context.WithTimeout(always, cluster.Patience)
	defer cancel()
	for late.Err() == nil {
		if done, err := r.session(late, false); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("the feed does not come to its end behind %s", r.since.Token())
}

// session is one connection. Done says that a feed which is not live came to its end;
// an error is the relay's fault. That the replica is killed is none.
func (r *resumer) session(ctx context.Context, live bool) (done bool, err error) {
	r.sessions++
	conn, err := r.replicas[r.rng.IntN(len(r.replicas))].Dial(ctx)
	if err != nil {
		return false, nil
	}
	defer conn.Close() // its peer may be gone
	if r.key > 0 {
		if _, err := conn.Next(ctx); err != nil { // the challenge
			return false, nil
		}
		if err := conn.Authenticate(ctx, cluster.Secret(r.key)); err != nil {
			return false, nil
		}
	}
	m := wire.ChangesMessage{ID: fmt.Sprint("feed ", r.sessions), Filter: everything, Since: r.since, Live: live, Removed: true}
	if err := conn.Send(ctx, wire.AppendChangesReq(nil, &m)); err != nil {
		return false, nil
	}
	return r.follow(ctx, conn, m.ID, live)
}

// follow notes what a feed tells until it or the connection ends.
func (r *resumer) follow(ctx context.Context, conn *client.Client, sub string, live bool) (done bool, err error) {
	for {
		m, err := conn.Next(ctx)
		var bad *wire.Error
		switch {
		case errors.As(err, &bad):
			return false, fmt.Errorf("unreadable: %w", err)
		case err != nil:
			return false, nil
		case m.Sub != sub:
		case m.Change == "EVENT":
			r.note(m.Position, m.Event.ID, false)
		case m.Change == "REMOVED":
			r.note(m.Position, m.ID, true)
		case m.Change == "EOSE":
			at, ok := wire.ParseToken(m.Token)
			if !ok || at.Position < r.since.Position {
				return false, fmt.Errorf("EOSE with %q behind %s", m.Token, r.since.Token())
			}
			r.since = at
			if !live {
				return !m.More, nil
			}
		case m.Change == "ERR":
			return false, r.ended(m)
		}
	}
}

// note keeps a change. Its place is the cursor from now on: the epoch is that of the
// first EOSE, and before that there is only the number.
func (r *resumer) note(position uint64, id string, removed bool) {
	r.told = append(r.told, told{position, id, removed})
	if r.since.Epoch == "" {
		r.since.Position = position
		return
	}
	r.since = wire.CursorAt(r.since.Epoch, position, id)
}

// ended counts the reasons of the relay. Nothing was trimmed or restored, so there is
// none for a resynchronise.
func (r *resumer) ended(m wire.RelayMessage) error {
	if r.errs == nil {
		r.errs = make(map[string]int)
	}
	r.errs[m.Text]++
	if strings.HasPrefix(m.Text, "error: ") {
		return nil
	}
	return fmt.Errorf("ERR %s behind %s", m.Text, r.since.Token())
}
