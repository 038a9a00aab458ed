package access_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/access"
	"fencepost/relay/access/control"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// listed returns the keys that a list of members names.
func listed(ev *wire.Event) (keys []string) {
	for _, t := range ev.Tags {
		if t[0] == "member" {
			keys = append(keys, t[1])
		}
	}
	return keys
}

// shelf is a store of lists, newest last.
type shelf struct {
	mu     sync.Mutex
	lists  []*wire.Event
	broken error
	tries  int
}

func (s *shelf) Append(_ context.Context, writes []store.Write) []store.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	if s.broken != nil {
		return []store.Outcome{{Err: s.broken}}
	}
	s.lists = append(s.lists, writes[0].Event)
	return []store.Outcome{{}}
}

func (s *shelf) Stored(context.Context) (*wire.Event, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lists) == 0 {
		return nil, false, nil
	}
	return s.lists[len(s.lists)-1], true, nil
}

// written runs test beside a scribe. members is what each list names, oldest first.
func written(t *testing.T, s *shelf, x *world, test func(lists func() [][]string)) {
	t.Helper()
	scribe := access.NewScribe(access.ScribeOptions{
		Policy: x.Policy, Append: s.Append, Stored: s.Stored, Logger: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		scribe.Run(ctx)
	}()
	test(func() (out [][]string) {
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, list := range s.lists {
			out = append(out, listed(list))
		}
		return out
	})
	cancel()
	<-done
}

func TestTheListOfMembersFollowsThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, x := &shelf{}, newWorld(members)
		written(t, s, x, func(lists func() [][]string) {
			require.Equal(t, [][]string{nil}, lists())
			<-time.After(time.Minute)
			x.member(t, bob)
			require.Equal(t, [][]string{nil, {bob}}, lists(), "at once")
			x.member(t, carol, alice)
			x.do(t, must2(x.BanKey(carol, "")), nil)
			require.Len(t, lists(), 2, "and then once a second")
			<-time.After(time.Second)
			require.Equal(t, [][]string{nil, {bob}, {alice, bob}}, lists())
			<-time.After(time.Hour)
			require.Len(t, lists(), 3)
		})
		for i, list := range s.lists {
			require.NoError(t, list.Verify())
			require.Equal(t, self, list.PubKey)
			require.Equal(t, 13534, list.Kind)
			require.True(t, list.Protected())
			require.EqualValues(t, now.Unix()+int64(i), list.CreatedAt, "it replaces the one before")
		}
		written(t, s, x, func(lists func() [][]string) {
			require.Len(t, lists(), 3, "a restart writes none when the stored one is right")
		})
	})
}

func TestARelayWithoutMembershipListsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, x := &shelf{}, newWorld(access.Rules{})
		w, err := x.AllowKey(alice)
		require.NoError(t, err)
		require.Empty(t, w.Also)
		written(t, s, x, func(lists func() [][]string) {
			x.do(t, w, nil)
			_, err = x.Plan(t.Context(), keys(bob), join(bob, "guess"))
			requireReason(t, wire.Restricted, err)
			<-time.After(time.Minute)
			require.Empty(t, lists())
			x.SetRules(members)
			require.Equal(t, [][]string{{alice}}, lists(), "until a reload makes it one with members")
		})
	})
}

func TestALongListNamesAsManyAsItHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, x := &shelf{}, newWorld(members)
		for i := range 5001 {
			key := strings.Repeat("0", 60) + strconv.Itoa(1000+i%9000)
			x.put(t, control.Row{Type: control.MemberPut, Key: key})
		}
		written(t, s, x, func(lists func() [][]string) { require.Len(t, lists()[0], 5000) })
	})
}

func TestAListThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, x := &shelf{broken: errors.New("disk is broken")}, newWorld(members)
		written(t, s, x, func(lists func() [][]string) {
			<-time.After(time.Hour)
			require.Empty(t, lists())
			require.InDelta(t, 60, s.tries, 15, "about once a minute in the end")
			s.mu.Lock()
			s.broken = store.ErrSuperseded // another replica was faster
			s.mu.Unlock()
			<-time.After(2 * time.Minute)
			s.mu.Lock()
			s.broken = nil
			s.mu.Unlock()
			<-time.After(2 * time.Minute)
			require.Len(t, lists(), 1)
		})
	})
}

func TestAFailingSignerWritesNoList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		x := newWorld(members, func(o *access.Options) {
			o.Sign = func(*nostr.Event) error { return errors.New("no key") }
		})
		written(t, s, x, func(lists func() [][]string) {
			<-time.After(time.Minute)
			require.Empty(t, lists())
			require.Zero(t, s.tries)
		})
	})
}
