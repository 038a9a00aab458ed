package storetest

import (
	"strconv"

	"pgregory.net/rapid"

	"fencepost/relay/store"
)

var (
	groups = []string{"a", "b", longValues[8]}
	scopes = []string{"relay", "g:a", "g:b", Key(0)}
)

// write makes a write that is an event alone mostly.
func (m *model) write(t *rapid.T) (w store.Write) {
	has := func(label string, of int) bool { return rapid.IntRange(1, of).Draw(t, label) == of }
	if !has("no event", 8) {
		w.Event = m.event(t)
		m.made = append(m.made, w.Event)
	}
	for has("term", 3) {
		term := store.Term{Scope: rapid.SampledFrom(scopes).Draw(t, "scope")}
		if !has("wrong epoch", 6) {
			term.Epoch = m.fake.epoch(term.Scope) // which an earlier write of the call may move
		}
		w.Terms = append(w.Terms, term)
	}
	for has("also", 6) {
		e := m.event(t)
		w.Also, m.made = append(w.Also, e), append(m.made, e)
	}
	for has("control", 6) {
		c := store.Control{Data: []byte(strconv.Itoa(len(m.made)))}
		for has("names a scope", 2) {
			c.Scopes = append(c.Scopes, rapid.SampledFrom(scopes).Draw(t, "names"))
		}
		w.Controls = append(w.Controls, c)
	}
	if len(m.made) > 0 && has("ban", 10) {
		w.Ban = append(w.Ban, rapid.SampledFrom(m.made).Draw(t, "banned").ID)
	}
	if len(m.made) > 0 && has("unban", 10) {
		w.Unban = append(w.Unban, rapid.SampledFrom(m.made).Draw(t, "unbanned").ID)
	}
	if has("fence", 4) {
		w.Fence = m.admission(t)
	}
	if has("remember", 25) {
		x := m.erasure(t)
		w.Erase = &x
	}
	return w
}

func (m *model) erasure(t *rapid.T) store.Erasure {
	if rapid.Bool().Draw(t, "of a group") {
		return store.Erasure{
			Group: rapid.SampledFrom(groups).Draw(t, "erased group"),
			Self:  rapid.SampledFrom([]string{"", Key(0)}).Draw(t, "self"),
			Cause: store.CauseOperator,
		}
	}
	return store.Erasure{
		Author: Key(rapid.IntRange(0, 2).Draw(t, "erased")),
		Until:  start + rapid.Int64Range(-1, 6).Draw(t, "erased until"),
		Cause:  store.CauseVanished,
	}
}
