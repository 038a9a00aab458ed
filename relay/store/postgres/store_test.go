package postgres_test

import (
	"testing"
	"time"

	server "fencepost/regress/postgres"
	"fencepost/relay/store"
	"fencepost/relay/store/storetest"
)

func TestStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	from := server.Start(t)
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store { return open(t, from, at(now)) })
}

func TestCopiesAreTheSame(t *testing.T) {
	t.Parallel()
	if !full {
		t.Skip("takes a database for each of 100 histories: make test-pg runs it")
	}
	from := server.Start(t)
	storetest.RunCopies(t, func(t *testing.T, now func() time.Time) store.Store { return open(t, from, at(now)) })
}

func TestStoreAgreesWithTheFake(t *testing.T) {
	t.Parallel()
	if !full {
		t.Skip("takes a database for each of 100 histories: make test-pg runs it")
	}
	from := server.Start(t)
	storetest.RunModel(t, func(t *testing.T, now func() time.Time) store.Store { return open(t, from, at(now)) })
}
