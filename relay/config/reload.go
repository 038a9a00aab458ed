package config

import "reflect"

// Reloadable compares a running configuration with the one that a reload read.
// It returns the keys whose new value takes effect, and those whose change needs
// a restart. Of the former, what belongs to a connection (its queue, its
// transport) takes effect for connections that are opened afterwards.
func Reloadable(old, next Config) (changed, needRestart []string) {
	for _, k := range keys {
		if reflect.DeepEqual(k.field(&old), k.field(&next)) {
			continue
		}
		if k.when == atRestart {
			needRestart = append(needRestart, k.name)
			continue
		}
		changed = append(changed, k.name)
	}
	if !reflect.DeepEqual(old.Mirrors, next.Mirrors) {
		needRestart = append(needRestart, "mirror")
	}
	return changed, needRestart
}
