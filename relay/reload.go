package relay

import "fencepost/relay/config"

// warn says what an operator should know of c.
func (r *Relay) warn(c config.Config) {
	if len(c.Relay.URLs) == 0 {
		r.log.Warn("relay.urls is empty: AUTH and signed HTTP calls (NIP-98) are checked against the host that the client names, " +
			"so what was signed for another relay can be used here")
	}
}

// Reload makes c the running configuration as far as that can be done without a
// restart. It returns the keys that changed and those that need a restart. When it
// returns, subscriptions have ended that c no longer allows.
func (r *Relay) Reload(c config.Config) (changed, needRestart []string) {
	changed, _ = config.Reloadable(r.current(), c)
	_, needRestart = config.Reloadable(r.started, c)
	r.config.Store(&c)
	r.warn(c)
	r.parts.handlers.SetLimits(handlerLimits(c))
	r.parts.follower.SetMaxLag(trustedFor(c))
	r.parts.permissions.reload(c)
	r.parts.conns.Update(connOptions(c))
	return changed, needRestart
}
