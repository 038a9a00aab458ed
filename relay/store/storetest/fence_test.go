package storetest_test

import (
	"testing"

	"fencepost/relay/store/storetest"
)

func TestFencesOfTheFakeKeepTheContract(t *testing.T) {
	t.Parallel()
	storetest.RunFences(t, openFake)
}
