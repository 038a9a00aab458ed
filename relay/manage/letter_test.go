package manage_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/relay/store"
)

// Requeue implements manage.Letters.
func (r *replica) Requeue(ctx context.Context, at store.Position) error {
	found, err := r.TakeDeadLetter(ctx, "here", at)
	if err == nil && !found {
		return store.ErrNoLetter
	}
	return err
}

func TestDeadLettersAreListedAndTriedAgain(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.requireResult(t, `[]`, "listdeadletters")
	for _, at := range []store.Position{7, 12_345_678_901} {
		require.NoError(t, r.PutDeadLetter(t.Context(), store.DeadLetter{Position: at, Replica: "here", Attempts: 5, Class: "damaged", At: time.Unix(1000, 1)}))
	}
	require.NoError(t, r.PutDeadLetter(t.Context(), store.DeadLetter{Position: 8, Replica: "there", Attempts: 0, Class: "crowded", At: time.Unix(1000, 1)}))
	const there = `{"position":8,"replica":"there","attempts":0,"error":"crowded","time":1000}`
	r.requireResult(t, `[{"position":7,"replica":"here","attempts":5,"error":"damaged","time":1000},
		{"position":12345678901,"replica":"here","attempts":5,"error":"damaged","time":1000},`+there+`]`, "listdeadletters")
	r.requireResult(t, `true`, "requeuedeadletter", 7)
	r.requireResult(t, `true`, "requeuedeadletter", "12345678901")
	r.requireResult(t, `[`+there+`]`, "listdeadletters")
	_, err := r.call(t, "requeuedeadletter", 8)
	requireRefused(t, err, "invalid", "no dead letter at position 8", "that of another replica")
}
