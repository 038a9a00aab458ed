package access_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

const relayKey = "0000000000000000000000000000000000000000000000000000000000000001"

var (
	self  = must(nostr.GetPublicKey(relayKey))
	alice = strings.Repeat("a", 64)
	bob   = strings.Repeat("b", 64)
	carol = strings.Repeat("c", 64)
	boss  = strings.Repeat("d", 64)
	now   = time.Unix(1_800_000_000, 0)
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// world is a policy over the smallest log that does what a store promises about
// terms, positions and scopes.
type world struct {
	*access.Policy
	rows   []store.Entry
	epochs map[string]store.Position
	head   store.Position
}

func options() access.Options {
	return access.Options{
		Self: self, Sign: func(ev *nostr.Event) error { return ev.Sign(relayKey) },
		Now: func() time.Time { return now },
	}
}

func newWorld(r access.Rules, change ...func(*access.Options)) *world {
	o := options()
	o.Rules = r
	for _, c := range change {
		c(&o)
	}
	return &world{Policy: access.New(o), epochs: map[string]store.Position{}}
}

// commit appends w as a store does, and returns the rows that are to be applied.
func (x *world) commit(w store.Write) (rows []store.Entry, err error) {
	for _, term := range w.Terms {
		if x.epochs[term.Scope] != term.Epoch {
			return nil, store.ErrMoved
		}
	}
	if w.Event != nil {
		x.head++
	}
	x.head += store.Position(len(w.Also))
	for i := range w.Controls {
		x.head++
		rows = append(rows, store.Entry{Position: x.head, Type: store.EntryControl, Control: &w.Controls[i]})
		for _, scope := range w.Controls[i].Scopes {
			x.epochs[scope] = x.head
		}
	}
	x.rows = append(x.rows, rows...)
	return rows, nil
}

// do commits what a plan returned and applies it.
func (x *world) do(t require.TestingT, w store.Write, err error) (changes []access.Change) {
	var yes *access.Accepted
	if !errors.As(err, &yes) {
		require.NoError(t, err)
	}
	rows, err := x.commit(w)
	require.NoError(t, err)
	for i := range rows {
		change, err := x.Apply(&rows[i])
		require.NoError(t, err)
		changes = append(changes, change)
	}
	return changes
}

// put commits and applies one row.
func (x *world) put(t require.TestingT, row control.Row, scopes ...string) access.Change {
	data, err := control.Encode(row)
	require.NoError(t, err)
	return x.do(t, store.Write{Controls: []store.Control{{Scopes: scopes, Data: data}}}, nil)[0]
}

func (x *world) member(t require.TestingT, keys ...string) {
	for _, key := range keys {
		w, err := x.AllowKey(key)
		x.do(t, w, err)
	}
}

// rowsOf decodes the control rows of a write.
func rowsOf(t require.TestingT, w store.Write) (rows []control.Row) {
	for _, c := range w.Controls {
		row, err := control.Decode(c.Data)
		require.NoError(t, err)
		rows = append(rows, row)
	}
	return rows
}

var serial struct {
	sync.Mutex
	n int
}

// event makes an event without a signature; nothing here looks at it.
func event(author string, kind int, tags ...nostr.Tag) *wire.Event {
	serial.Lock()
	defer serial.Unlock()
	serial.n++
	return wire.NewEvent(nostr.Event{
		ID: fmt.Sprintf("%064x", serial.n), PubKey: author, Kind: kind, CreatedAt: nostr.Timestamp(now.Unix()), Tags: tags,
	})
}

func at(ev *wire.Event, createdAt int64) *wire.Event {
	changed := ev.Event
	changed.CreatedAt = nostr.Timestamp(createdAt)
	return wire.NewEvent(changed)
}

func keys(list ...string) []string { return list }

func filters(list ...nostr.Filter) (out []*wire.Filter) {
	for _, f := range list {
		out = append(out, wire.NewFilter(f))
	}
	return out
}

func kinds(list ...int) nostr.Filter { return nostr.Filter{Kinds: list} }

// requireReason checks the prefix of a refusal; "" is none.
func requireReason(t *testing.T, prefix wire.Prefix, err error, args ...any) {
	t.Helper()
	if prefix == "" {
		require.NoError(t, err, args...)
		return
	}
	var r wire.Reason
	require.ErrorAs(t, err, &r, args...)
	require.Equal(t, prefix, r.Prefix, args...)
	require.NotEmpty(t, r.Text, args...)
}

// requireAccepted checks that err is a yes.
func requireAccepted(t *testing.T, prefix wire.Prefix, err error) {
	t.Helper()
	var yes *access.Accepted
	require.ErrorAs(t, err, &yes)
	require.Equal(t, prefix, yes.Accepted().Prefix)
}

// sees asks Sight.
func sees(t require.TestingT, p *access.Policy, ev *wire.Event, keys ...string) bool {
	s := p.Sight(ev)
	may, err := s.Decide(context.Background(), keys)
	require.NoError(t, err)
	return may
}
