package access

import "fencepost/relay/wire"

// Until every caller makes a policy from Options.

func optionsOf(from any) Options {
	if o, ok := from.(Options); ok {
		return o
	}
	r, _ := from.(Require) // there is no third
	return Options{Rules: Rules{Require: r}}
}

// Set changes what authentication is required for.
func (p *Policy) Set(r Require) { p.SetRules(Rules{Require: r}) }

// MayWrite is MaySubmit.
func (p *Policy) MayWrite(keys []string, ev *wire.Event) error { return p.MaySubmit(keys, ev) }
