package relay

import (
	"net/http"
	"time"

	"fencepost/relay/publish"
	"fencepost/relay/web/nip98"
)

// frameOverhead is what a call that publishes has beside the event, in bytes.
const frameOverhead = 1 << 10

// verifier tells who signed a request (NIP-98). Replicas that share a store share what
// they remember; the memory of a single process begins with it.
func (r *Relay) verifier() *nip98.Verifier {
	o := nip98.Options{Now: time.Now, Bases: r.bases}
	if shared, ok := r.parts.store.(nip98.Ledger); ok {
		o.Ledger = shared
	} else {
		const tokens = 1 << 16 // of two minutes
		o.Ledger, o.Since = nip98.NewMemory(tokens, time.Now), time.Now()
	}
	return nip98.New(o)
}

// publishers serves those who publish by HTTP under a fence.
func (r *Relay) publishers(v *nip98.Verifier) http.Handler {
	p := r.parts
	return publish.New(publish.Options{
		Engine: publish.NewNative(p.store, p.handlers), Verifier: v, MayHold: p.policy.MayHold, Logger: r.log,
		MaxBody: func() int64 { return int64(r.current().WebSocket.MaxMessage) + frameOverhead },
	})
}
