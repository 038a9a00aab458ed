package race_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"fencepost/regress/race"
)

func small(url string) race.Options {
	return race.Options{
		URL: url, Connections: 6, Publishers: 3, Topics: 12, Rate: 200,
		Duration: 800 * time.Millisecond, Patience: time.Minute, Seed: 1,
	}
}

// stormed is a relay with a fault, and what a storm must count of it.
type stormed struct {
	fault    fault
	rises    func(race.Report) int
	fails    bool          // it is one of the four that must not happen, and the only one
	loose    bool          // others of the four rise too: frames seem to be of another generation
	patience time.Duration // at first, since it is waited out
}

// TestStormCountsExactlyWhatTheRelayDoesWrong is not parallel: each storm needs
// the machine for itself to be as dense as it should be.
func TestStormCountsExactlyWhatTheRelayDoesWrong(t *testing.T) {
	judged := func(r race.Report) int { return r.Judged }
	stale := func(r race.Report) int { return r.Stale }
	duplicate := func(r race.Report) int { return r.Duplicate }
	missing := func(r race.Report) int { return r.Missing }
	outOfOrder := func(r race.Report) int { return r.OutOfOrder }
	for _, tc := range []stormed{
		{fault: correct, rises: judged},
		{fault: afterClose, rises: stale, fails: true},
		{fault: afterReplace, rises: stale, fails: true},
		{fault: twice, rises: duplicate, fails: true},
		{fault: eoseTwice, rises: duplicate, loose: true},
		{fault: drops, rises: missing, fails: true, patience: 200 * time.Millisecond},
		{fault: seam, rises: missing, fails: true, patience: 200 * time.Millisecond},
		{fault: liveOrder, rises: outOfOrder, fails: true},
		{fault: storedOrder, rises: outOfOrder, fails: true},
		{fault: noEOSE, rises: func(r race.Report) int { return r.Unanswered }, loose: true, patience: 200 * time.Millisecond},
		{fault: garbage, rises: func(r race.Report) int { return r.Malformed }},
		{fault: needsAuth, rises: judged},
		{fault: acksClose, rises: judged},
		{fault: gives, rises: func(r race.Report) int { return r.Ended }},
	} {
		t.Run(string(tc.fault), func(t *testing.T) {
			o := small(newTestRelay(t, tc.fault).url)
			if tc.patience != 0 {
				o.Patience = tc.patience
			}
			// On a starved machine a storm is a breeze: then another one follows. Where the
			// relay is right, and late for a short patience, it is judged with a longer one.
			rose := false
			for o.Seed = 1; !rose && o.Seed <= 10; o.Seed++ {
				r, err := race.Run(t.Context(), o)
				wrong := tc.misjudged(r)
				if late := err != nil || wrong != ""; late && o.Patience < 5*time.Second {
					o.Patience *= 3
					continue
				}
				require.NoError(t, err)
				require.Empty(t, wrong, "%+v", r)
				require.Positive(t, r.Acknowledged)
				rose = tc.rises(r) > 0
			}
			require.True(t, rose)
		})
	}
}

// misjudged says what a report has that such a relay gives no reason for, "" for nothing.
func (s *stormed) misjudged(r race.Report) string {
	others := r.Stale + r.Duplicate + r.Missing + r.OutOfOrder
	if s.fails {
		others -= s.rises(r)
	}
	switch {
	case r.Cut > 0:
		return "connections were cut"
	case s.fails && r.Failed() != (s.rises(r) > 0):
		return "what must not happen did, and the storm has not failed"
	case !s.loose && others > 0:
		return "another fault than that of the relay"
	default:
		return ""
	}
}

func TestStormLeavesNothingBehind(t *testing.T) {
	r := newTestRelay(t, correct)
	before := goleak.IgnoreCurrent()
	o := small(r.url)
	o.Duration = 200 * time.Millisecond
	_, err := race.Run(t.Context(), o)
	require.NoError(t, err)
	r.gone(t)
	goleak.VerifyNone(t, before)
}

func TestStormEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	o := small(newTestRelay(t, correct).url)
	o.Duration = time.Minute
	_, err := race.Run(ctx, o)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestStormNeedsARelayThatTakesEvents(t *testing.T) {
	t.Parallel()
	o := small("ws://127.0.0.1:1")
	_, err := race.Run(t.Context(), o)
	require.ErrorContains(t, err, "connect to ws://127.0.0.1:1")

	for _, bad := range []func(*race.Options){
		func(o *race.Options) { o.URL = "" },
		func(o *race.Options) { o.Kind = 0x10000 },
		func(o *race.Options) { o.Kind = 30023 },
		func(o *race.Options) { o.Topics = 3 },
		func(o *race.Options) { o.Rate = -1 },
		func(o *race.Options) { o.Duration = 2 * time.Hour },
	} {
		o := small("ws://127.0.0.1:1")
		bad(&o)
		_, err := race.Run(t.Context(), o)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "connect")
	}
}
