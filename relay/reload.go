package relay

import (
	"fencepost/relay/access"
	"fencepost/relay/config"
)

// Reload makes c the running configuration as far as that can be done without a
// restart. It returns the keys that changed and those that need a restart.
func (r *Relay) Reload(c config.Config) (changed, needRestart []string) {
	changed, needRestart = config.Reloadable(r.current(), c)
	r.config.Store(&c)
	r.parts.handlers.SetLimits(handlerLimits(c))
	r.parts.access.Set(access.Require(c.Auth.Require))
	r.parts.conns.Update(connOptions(c))
	return changed, needRestart
}
