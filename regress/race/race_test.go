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
	type counts struct{ stale, duplicate, missing, outOfOrder bool }
	for _, tc := range []struct {
		fault    fault
		patience time.Duration
		want     counts
		loose    bool                              // other counters rise as well, since frames seem to be of another generation
		allowed  func(t *testing.T, r race.Report) // what else is to be seen
	}{
		{fault: correct},
		{fault: afterClose, want: counts{stale: true}},
		{fault: afterReplace, want: counts{stale: true}},
		{fault: twice, want: counts{duplicate: true}},
		{fault: eoseTwice, loose: true, allowed: func(t *testing.T, r race.Report) { require.Positive(t, r.Duplicate) }},
		{fault: drops, patience: 200 * time.Millisecond, want: counts{missing: true}},
		{fault: seam, patience: 200 * time.Millisecond, want: counts{missing: true}},
		{fault: liveOrder, want: counts{outOfOrder: true}},
		{fault: storedOrder, want: counts{outOfOrder: true}},
		{fault: noEOSE, loose: true, patience: 200 * time.Millisecond, allowed: func(t *testing.T, r race.Report) { require.Positive(t, r.Unanswered) }},
		{fault: garbage, allowed: func(t *testing.T, r race.Report) { require.Positive(t, r.Malformed) }},
		{fault: needsAuth, allowed: func(t *testing.T, r race.Report) { require.Positive(t, r.Judged) }},
		{fault: acksClose, allowed: func(t *testing.T, r race.Report) { require.Positive(t, r.Judged) }},
		{fault: gives, allowed: func(t *testing.T, r race.Report) { require.Positive(t, r.Ended) }},
	} {
		t.Run(string(tc.fault), func(t *testing.T) {
			o := small(newTestRelay(t, tc.fault).url)
			if tc.patience != 0 {
				o.Patience = tc.patience
			}
			r, err := race.Run(t.Context(), o)
			require.NoError(t, err)
			if !tc.loose {
				require.Equal(t, tc.want, counts{r.Stale > 0, r.Duplicate > 0, r.Missing > 0, r.OutOfOrder > 0}, "%+v", r)
				require.Equal(t, tc.want != counts{}, r.Failed())
			}
			require.Positive(t, r.Acknowledged)
			require.Zero(t, r.Cut)
			if tc.allowed != nil {
				tc.allowed(t, r)
				return
			}
			require.Positive(t, r.Judged)
			require.Zero(t, r.Malformed+r.Ended)
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
