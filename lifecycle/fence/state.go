package fence

import (
	"slices"
	"time"
)

const (
	// Remembered is how many earlier tokens a fence knows, so that none is claimed again.
	Remembered = 32
	// MaxCursor bounds what an owner keeps with its fence, in bytes.
	MaxCursor = 1 << 10
)

// State is a fence. The zero State is an absent one. States are values: no method
// changes what Used and Cursor point to.
type State struct {
	Token  Token // of the present owner
	Active bool  // false after it was revoked
	Lease  time.Duration
	Until  time.Time // when the lease runs out, by the clock of the engine
	Epoch  uint64    // how often it was claimed
	Next   uint64    // the number of the next frame, from 1
	Used   []Mark    // the tokens before Token, oldest first
	Cursor []byte    // how far the owners have come, in their own words; nil for none
}

// Mark tells a token that was used from others.
type Mark [8]byte

func markOf(t Token) Mark { return Mark(t[:8]) }

// Change is what the API calls for. New and Lease (within MinLease and MaxLease) must
// be set, Lease also where it has no effect.
type Change struct {
	Expected Token // the token that the caller takes for the present one, or none
	New      Token
	Active   bool
	Lease    time.Duration
}

// Exists reports whether the fence was ever claimed.
func (s *State) Exists() bool { return s.Epoch > 0 }

// Expired reports whether the lease has run out at now. The owner keeps its rights
// until it is replaced.
func (s *State) Expired(now time.Time) bool { return !now.Before(s.Until) }

// Free reports whether anybody may claim at now.
func (s *State) Free(now time.Time) bool { return !s.Exists() || !s.Active || s.Expired(now) }

// Set carries out c at now and returns the next state: a claim when New is not
// Expected (P1), else a renewal, or a revocation (P2). A claim is active.
func (s State) Set(c Change, now time.Time) (State, error) {
	if c.New == c.Expected {
		return s.keep(c, now)
	}
	switch {
	case !c.Active:
		return s, s.refuse(FailedPrecondition, "a claim is active; to revoke, name the present token twice")
	case s.used(c.New):
		return s, s.refuse(Aborted, "the new token was used before")
	case !s.Free(now) && c.Expected != s.Token:
		return s, s.refuse(Aborted, "the stream has another owner")
	}
	if s.Exists() {
		s.Used = append(slices.Clone(s.Used[max(0, len(s.Used)+1-Remembered):]), markOf(s.Token))
	} else {
		s.Next = 1
	}
	s.Token, s.Active, s.Epoch = c.New, true, s.Epoch+1
	return s.renewed(c.Lease, now), nil
}

// keep renews or revokes.
func (s State) keep(c Change, now time.Time) (State, error) {
	switch {
	case !s.Exists() || c.New != s.Token:
		return s, s.refuse(Aborted, "the token is not the present one")
	case !c.Active:
		s.Active = false
		return s, nil
	case !s.Active:
		return s, s.refuse(FailedPrecondition, "the fence was revoked; claim it with a fresh token")
	}
	return s.renewed(c.Lease, now), nil
}

// Admit lets one frame of the holder of t in at now, which renews the lease, and
// returns the next state and the frame's number. A lease that ran out is no obstacle as
// long as nobody has replaced the owner (P3).
func (s State) Admit(t Token, now time.Time) (next State, number uint64, err error) {
	if err := s.Check(t); err != nil {
		return s, 0, err
	}
	number = s.Next
	s.Next++
	return s.renewed(s.Lease, now), number, nil
}

// Check returns why the holder of t may not publish.
func (s *State) Check(t Token) error {
	switch {
	case !s.Exists():
		return s.refuse(FailedPrecondition, "the stream has no fence; claim it first")
	case t != s.Token:
		return s.refuse(FailedPrecondition, "the token is not the present one: another owner has the stream")
	case !s.Active:
		return s.refuse(FailedPrecondition, "the fence was revoked")
	}
	return nil
}

// Renewed returns the state with its lease begun anew at now, and no number used.
func (s State) Renewed(now time.Time) State { return s.renewed(s.Lease, now) }

func (s State) renewed(lease time.Duration, now time.Time) State {
	s.Lease, s.Until = lease, now.Add(lease)
	return s
}

func (s *State) used(t Token) bool {
	return s.Exists() && t == s.Token || slices.Contains(s.Used, markOf(t))
}
