package fence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"fencepost/lifecycle/fence"
)

// deed is something that succeeded; model keeps all of them and nothing else.
type deed struct {
	what  string // claim, renew, revoke, admit
	token int
	at    time.Time
	lease time.Duration
}

// model says what a fence must do by looking through everything that ever happened.
type model struct{ deeds []deed }

func (m *model) last(what ...string) (found deed, ok bool) {
	for _, d := range m.deeds {
		for _, w := range what {
			if d.what == w {
				found, ok = d, true
			}
		}
	}
	return found, ok
}

func (m *model) count(what string) (n uint64) {
	for _, d := range m.deeds {
		if d.what == what {
			n++
		}
	}
	return n
}

func (m *model) owner() int {
	d, _ := m.last("claim")
	return d.token // 0 for nobody
}

func (m *model) revoked() bool {
	d, _ := m.last("claim", "revoke")
	return d.what == "revoke"
}

// over reports whether the lease has run out: that of the last claim or renewal, begun
// by the last of them or of the admissions.
func (m *model) over(now time.Time) bool {
	set, ok := m.last("claim", "renew")
	begun, _ := m.last("claim", "renew", "admit")
	return !ok || begun.at.Add(set.lease).Compare(now) <= 0
}

func (m *model) everUsed(token int) bool {
	for _, d := range m.deeds {
		if d.what == "claim" && d.token == token {
			return true
		}
	}
	return false
}

// set returns the code of the refusal, or "".
func (m *model) set(expected, fresh int, active bool, lease time.Duration, now time.Time) fence.Code {
	if fresh != expected {
		switch {
		case !active:
			return fence.FailedPrecondition
		case m.everUsed(fresh):
			return fence.Aborted
		case expected != m.owner() && m.owner() != 0 && !m.revoked() && !m.over(now):
			return fence.Aborted
		}
		m.deeds = append(m.deeds, deed{"claim", fresh, now, lease})
		return ""
	}
	switch {
	case fresh != m.owner():
		return fence.Aborted
	case !active:
		m.deeds = append(m.deeds, deed{what: "revoke"})
		return ""
	case m.revoked():
		return fence.FailedPrecondition
	}
	m.deeds = append(m.deeds, deed{"renew", fresh, now, lease})
	return ""
}

func (m *model) admit(token int, now time.Time) (uint64, fence.Code) {
	if m.owner() != token || m.revoked() {
		return 0, fence.FailedPrecondition
	}
	m.deeds = append(m.deeds, deed{what: "admit", token: token, at: now})
	return m.count("admit"), ""
}

func token(n int) fence.Token { return fence.TokenOf(string(rune('A' + n - 1))) }

func code(t require.TestingT, err error, epoch uint64) fence.Code {
	if err == nil {
		return ""
	}
	var refusal *fence.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, epoch, refusal.Epoch, "a refusal says the present epoch")
	require.NotEmpty(t, refusal.Text)
	return refusal.Code
}

// Whatever happens in whatever order, a fence does what a look through its history says
// (P1 to P4, P6, P8), and survives being written down.
func TestAFenceDoesWhatItsHistorySays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s fence.State
		m := &model{}
		now := time.Unix(1_700_000_000, 0)
		tokens := rapid.IntRange(1, 12) // few, so that they meet; fewer than are remembered
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "seconds")) * time.Second)
			before, deeds := s, len(m.deeds)
			if rapid.Bool().Draw(t, "admit") {
				by := tokens.Draw(t, "by")
				want, refused := m.admit(by, now)
				next, number, err := s.Admit(token(by), now)
				require.Equal(t, refused, code(t, err, s.Epoch))
				require.Equal(t, want, number)
				s = next
			} else {
				expected, fresh := rapid.IntRange(0, 12).Draw(t, "expected"), tokens.Draw(t, "new")
				if rapid.Bool().Draw(t, "of the owner") && m.owner() != 0 {
					expected = m.owner()
				}
				if rapid.IntRange(0, 2).Draw(t, "keep") == 0 && expected != 0 {
					fresh = expected
				}
				c := fence.Change{New: token(fresh), Active: rapid.IntRange(0, 3).Draw(t, "active") > 0}
				c.Lease = time.Duration(rapid.IntRange(1, 6).Draw(t, "lease")) * time.Second
				if expected != 0 {
					c.Expected = token(expected)
				}
				refused := m.set(expected, fresh, c.Active, c.Lease, now)
				next, err := s.Set(c, now)
				require.Equal(t, refused, code(t, err, s.Epoch))
				s = next
			}
			if deeds == len(m.deeds) {
				require.Equal(t, before, s, "a refusal changes nothing")
			}
			require.GreaterOrEqual(t, s.Epoch, before.Epoch)
			require.Equal(t, m.count("claim"), s.Epoch)
			if s = again(t, s); s.Exists() {
				require.Equal(t, token(m.owner()), s.Token)
				require.Equal(t, !m.revoked(), s.Active)
				require.Equal(t, m.count("admit")+1, s.Next)
				require.Equal(t, m.over(now), s.Expired(now))
			}
		}
	})
}

// again writes s down and reads it.
func again(t require.TestingT, s fence.State) fence.State {
	if !s.Exists() {
		return s
	}
	got, err := fence.Decode(s.Append(nil))
	require.NoError(t, err)
	require.True(t, got.Until.Equal(s.Until))
	got.Until = s.Until
	require.Equal(t, s, got)
	return got
}
