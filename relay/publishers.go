package relay

import (
	"net/http"
	"time"

	"fencepost/lifecycle/fence/dapr"
	"fencepost/lifecycle/fence/kv"
	"fencepost/relay/publish"
	"fencepost/relay/web/nip98"
)

// frameOverhead is what a call that publishes has beside the event, in bytes.
const frameOverhead = 1 << 10

// verifier tells who signed a request (NIP-98). Replicas that share a store share what
// they remember; the memory of a single process begins with it, and each verifier has its
// own: one URL must always be verified by the same one.
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
	return publish.New(publish.Options{
		Engine: r.fences(), Verifier: v, MayHold: r.parts.policy.MayHold, Logger: r.log,
		MaxBody: func() int64 { return int64(r.current().WebSocket.MaxMessage) + frameOverhead },
	})
}

// fences keeps the fences of publishers: in the store, or beside it where a sidecar is
// named, whose sweep runs as long as the relay.
func (r *Relay) fences() publish.Engine {
	p, c := r.parts, r.started.Publishers
	if c.DaprURL == "" {
		return publish.NewNative(p.store, p.handlers)
	}
	e := kv.New(kv.Options{
		KV:   dapr.New(dapr.Options{URL: c.DaprURL, Store: c.DaprStore, Token: c.DaprToken.Reveal()}),
		Sink: publish.NewSink(p.store, p.handlers), Now: time.Now, Logger: r.log,
	})
	r.group.Go("fences", e.Run)
	return e
}
