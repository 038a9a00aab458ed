package manage

import (
	"context"
	"time"

	"fencepost/relay/access"
	"fencepost/relay/store"
)

// Key, Event and Address are entries of lists, as NIP-86 names their fields.
type (
	Key struct {
		PubKey string `json:"pubkey"`
		Reason string `json:"reason,omitempty"`
	}
	Event struct {
		ID     string `json:"id"`
		Reason string `json:"reason,omitempty"`
	}
	Address struct {
		IP     string `json:"ip"`
		Reason string `json:"reason,omitempty"`
	}
)

// Claim is an invite to become a member of the relay (NIP-43).
type Claim struct {
	Claim   string `json:"claim"`
	Uses    int    `json:"uses,omitempty"` // how often it can be used; 0 is no bound
	Used    int    `json:"used"`
	Expires int64  `json:"expires,omitempty"` // Unix seconds; 0 is never
}

const (
	// maxUses and maxLife bound a claim; maxLife is in seconds.
	maxUses = 1_000_000
	maxLife = 10 * 365 * 24 * 60 * 60
	aWeek   = 7 * 24 * 60 * 60
)

// table is every method. Those about claims and dead letters, and unlistkind, are this
// relay's own, and so is listmirrors, see New.
func (a *API) table() map[string]method {
	p := a.o.Access
	return map[string]method{
		"supportedmethods": a.supported,

		"banpubkey":   about(a, (*args).key, p.BanKey),
		"unbanpubkey": about(a, (*args).key, reasonless(p.UnbanKey)),
		"listbannedpubkeys": list(func() []Key {
			return entries(p.BannedKeys(), func(l access.Listed) Key { return Key{l.Value, l.Reason} })
		}),

		"allowpubkey":        about(a, (*args).key, reasonless(p.AllowKey)),
		"unallowpubkey":      about(a, (*args).key, reasonless(p.UnallowKey)),
		"listallowedpubkeys": list(func() []Key { return entries(p.AllowedKeys(), func(key string) Key { return Key{PubKey: key} }) }),
		"createclaim":        a.createClaim,
		"listclaims":         list(a.claims),
		"removeclaim":        about(a, (*args).claim, reasonless(p.RemoveClaim)),

		"banevent":   about(a, (*args).id, p.BanEvent),
		"unbanevent": about(a, (*args).id, reasonless(p.UnbanEvent)),
		"allowevent": about(a, (*args).id, reasonless(p.UnbanEvent)), // there is no list of allowed ones
		"listbannedevents": list(func() []Event {
			return entries(p.BannedEvents(), func(l access.Listed) Event { return Event{l.Value, l.Reason} })
		}),
		"listeventsneedingmoderation": a.needingModeration,

		"allowkind":           about(a, (*args).kind, reasonless(p.AllowKind)),
		"disallowkind":        about(a, (*args).kind, reasonless(p.DisallowKind)),
		"unlistkind":          about(a, (*args).kind, reasonless(p.UnlistKind)),
		"listallowedkinds":    list(p.AllowedKinds),
		"listdisallowedkinds": list(p.DisallowedKinds),

		"blockip":   about(a, (*args).address, p.BlockAddress),
		"unblockip": about(a, (*args).address, reasonless(p.UnblockAddress)),
		"listblockedips": list(func() []Address {
			return entries(p.BlockedAddresses(), func(l access.Listed) Address { return Address{l.Value, l.Reason} })
		}),

		"listdeadletters":   a.deadLetters,
		"requeuedeadletter": a.requeue,
	}
}

// about makes a method that changes something about what its first parameter
// names, with a reason as the second. Its result is true.
func about[T any](a *API, read func(*args) T, plan func(of T, reason string) (store.Write, error)) method {
	return func(ctx context.Context, p *args) (any, error) {
		of, reason := read(p), p.reason()
		if err := p.end(); err != nil {
			return nil, err
		}
		err := a.change(ctx, p.method, func() (store.Write, error) { return plan(of, reason) })
		return true, err
	}
}

// reasonless is for changes that keep no reason.
func reasonless[T any](plan func(T) (store.Write, error)) func(T, string) (store.Write, error) {
	return func(of T, _ string) (store.Write, error) { return plan(of) }
}

// list makes a method without parameters.
func list[T any](read func() []T) method {
	return func(_ context.Context, p *args) (any, error) { return read(), p.end() }
}

// entries never returns nil, which JSON would show as null.
func entries[F, T any](from []F, entry func(F) T) []T {
	to := make([]T, len(from))
	for i, f := range from {
		to[i] = entry(f)
	}
	return to
}

func (a *API) needingModeration(ctx context.Context, p *args) (any, error) {
	if err := p.end(); err != nil {
		return nil, err
	}
	return a.moderation(ctx)
}

func (a *API) claims() []Claim {
	return entries(a.o.Access.Claims(), func(c access.Claim) Claim {
		one := Claim{Claim: c.Code, Uses: c.Uses, Used: c.Used}
		if !c.Expires.IsZero() {
			one.Expires = c.Expires.Unix()
		}
		return one
	})
}

// createClaim makes a claim for that many new members (0: no bound), good for that
// many seconds (0: for ever). Both may be left out: one member, a week.
func (a *API) createClaim(ctx context.Context, p *args) (any, error) {
	uses, seconds := p.number(maxUses, 1), p.number(maxLife, aWeek)
	if err := p.end(); err != nil {
		return nil, err
	}
	var code string
	err := a.change(ctx, p.method, func() (w store.Write, err error) {
		var expires time.Time
		if seconds > 0 {
			expires = a.o.Now().Add(time.Duration(seconds) * time.Second)
		}
		code, w, err = a.o.Access.CreateClaim(uses, expires)
		return w, err
	})
	return created{code}, err
}

type created struct {
	Claim string `json:"claim"`
}
