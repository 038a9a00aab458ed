package conformance_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// positions is where a relay's log is (draft NIP-CF).
type positions struct {
	Epoch       string
	Floor, Head uint64
}

// feeds returns where the log is, of a relay that has changes feeds.
func feeds(t *testing.T, r *relay) positions {
	t.Helper()
	_, body := r.ask(t, http.MethodGet, "Accept", "application/nostr+json")
	var d struct{ Changes positions }
	require.NoError(t, json.Unmarshal([]byte(body), &d))
	if d.Changes.Epoch == "" {
		t.Skip("this relay has no changes feeds")
	}
	return d.Changes
}

// changes sends a CHANGES and returns what comes up to its EOSE or ERR.
func (p *peer) changes(id, fields string) []frame {
	p.t.Helper()
	p.send(`["CHANGES",` + quote(id) + `,` + fields + `]`)
	return p.until("end of "+id, func(f frame) bool { return f.Sub == id && (f.Change == "EOSE" || f.Change == "ERR") })
}

// A client goes on where its feed ended, live or not, and is told what was removed.
func TestAChangesFeedGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	r := target(t)
	at := feeds(t, r)
	p, topic := r.dial(t), random()
	notes := p.notes(topic, 3)
	p.store(notes...)
	filter := fmt.Sprintf(`"#t":[%q],"removed":true`, topic)

	got := p.changes("x", fmt.Sprintf(`{%s,"since":%d,"epoch":%q}`, filter, at.Head, at.Epoch))
	require.Len(t, got, 4)
	last := at.Head
	for i, f := range got[:3] {
		require.Equal(t, []string{"CHANGES", "EVENT", notes[i].ID}, []string{f.Verb, f.Change, f.Event.ID}, f.raw)
		require.Greater(t, f.Position, last, "positions rise")
		last = f.Position
	}
	end := got[3]
	require.Equal(t, at.Epoch, end.Epoch)
	require.GreaterOrEqual(t, end.Position, last)

	removal := signed(p.secret, nostr.KindDeletion, nostr.Now(), "", nostr.Tag{"e", notes[1].ID})
	p.store(removal)
	got = p.changes("x", fmt.Sprintf(`{%s,"since":%q,"live":true}`, filter, end.Token))
	require.Len(t, got, 2)
	require.Equal(t, []string{"REMOVED", notes[1].ID}, []string{got[0].Change, got[0].ID}, got[0].raw)

	late := p.note(topic, nostr.Now())
	p.store(late)
	live := p.until("a live change", func(f frame) bool { return f.Change == "EVENT" })
	require.Equal(t, late.ID, live[len(live)-1].Event.ID)
	p.end("x")
	require.Equal(t, []string{"EVENT", "EOSE"}, verbsOf(p.changes("y", fmt.Sprintf(
		`{%s,"since":%q}`, filter, wire.CursorAt(at.Epoch, got[0].Position, notes[1].ID).Token()))), "the token of a live change")
}

func verbsOf(frames []frame) (list []string) {
	for _, f := range frames {
		list = append(list, f.Change)
	}
	return list
}

// What cannot be continued exactly is said, with where the log is.
func TestAChangesFeedThatCannotGoOnSaysSo(t *testing.T) {
	t.Parallel()
	r := target(t)
	at := feeds(t, r)
	p := r.dial(t)
	p.store(p.note(random(), nostr.Now()))
	for name, since := range map[string]string{
		"another epoch":       `"since":0,"epoch":"another"`,
		"above the head":      `"since":9223372036854775807`,
		"no token":            `"since":""`,
		"another's token":     `"since":"another:1:0000000000000000"`,
		"no event of the log": fmt.Sprintf(`"since":"%s:%d:ffffffffffffffff"`, at.Epoch, at.Floor),
	} {
		got := p.changes(p.fresh("x"), "{"+since+"}")
		require.Len(t, got, 1, name)
		require.Equal(t, "ERR", got[0].Change)
		require.Regexp(t, `^resync: `, got[0].Text)
		require.Equal(t, at.Epoch, got[0].Epoch)
		require.GreaterOrEqual(t, got[0].Head, at.Head)
	}
	got := p.changes(p.fresh("x"), `{"until":1}`)
	require.Regexp(t, `^unsupported: `, got[0].Text)
}
