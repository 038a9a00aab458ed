package storetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
)

func TestFakeKeepsTheContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, openFake)
}

// The fake against itself shows that the model's comparison is deterministic.
func TestFakeAgreesWithItself(t *testing.T) {
	t.Parallel()
	storetest.RunModel(t, openFake)
}

func TestCopiesAreTheSame(t *testing.T) {
	t.Parallel()
	storetest.RunCopies(t, openFake)
}

func TestFakeLivesInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := storetest.NewFake(time.Now)
		e := storetest.Draft{Kind: 20001, At: time.Now().Unix()}.Event()
		woken := make(chan struct{})
		go func() { <-fake.Changed(); close(woken) }()
		synctest.Wait()
		require.NoError(t, fake.Append(t.Context(), []store.Write{{Event: e}})[0].Err)
		<-woken
		<-time.After(store.EphemeralAge) // the bubble's time
		n, err := fake.Sweep(t.Context(), time.Now())
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})
}

func openFake(_ *testing.T, now func() time.Time) store.Store { return storetest.NewFake(now) }
