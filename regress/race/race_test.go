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
		Duration: 800 * time.Millisecond, Patience: 5 * time.Second, Seed: 1,
	}
}

// TestStormCountsExactlyWhatTheRelayDoesWrong is not parallel: each storm needs
// the machine for itself to be as dense as it should be.
func TestStormCountsExactlyWhatTheRelayDoesWrong(t *testing.T) {
	judged := func(r race.Report) int { return r.Judged }
	stale := func(r race.Report) int { return r.Stale }
	duplicate := func(r race.Report) int { return r.Duplicate }
	missing := func(r race.Report) int { return r.Missing }
	outOfOrder := func(r race.Report) int { return r.OutOfOrder }
	for _, tc := range []struct {
		fault    fault
		rises    func(race.Report) int
		fails    bool // it is one of the four that must not happen, and the only one
		loose    bool // others of the four rise too: frames seem to be of another generation
		patience time.Duration
	}{
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
			// On a starved machine a storm is a breeze: then another one follows.
			rose := false
			for o.Seed = 1; !rose && o.Seed <= 10; o.Seed++ {
				r, err := race.Run(t.Context(), o)
				require.NoError(t, err)
				require.Positive(t, r.Acknowledged)
				require.Zero(t, r.Cut, "%+v", r)
				rose = tc.rises(r) > 0
				others := r.Stale + r.Duplicate + r.Missing + r.OutOfOrder
				if tc.fails {
					others -= tc.rises(r)
					require.Equal(t, rose, r.Failed())
				}
				if !tc.loose {
					require.Zero(t, others, "%+v", r)
				}
			}
			require.True(t, rose)
		})
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
