package group

import "slices"

// ties are groups by the keys that are something in them. Nothing is locked.
type ties map[string][]*group

func (t ties) add(key string, g *group) { t[key] = append(t[key], g) }

// remove takes out one group of a key, if it is there.
func (t ties) remove(key string, g *group) {
	at := slices.Index(t[key], g)
	if at < 0 {
		return
	}
	if t[key] = slices.Delete(t[key], at, at+1); len(t[key]) == 0 {
		delete(t, key)
	}
}

// take takes out a key, and returns its groups.
func (t ties) take(key string) []*group {
	groups := t[key]
	delete(t, key)
	return groups
}

// forgetKey takes out the groups of a key: where it is a member, and whose
// metadata name it.
func (b *Book) forgetKey(key string) (member, attested []*group) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.members.take(key), b.attested.take(key)
}

// attest keeps which key the metadata of g name, "" for none.
func (b *Book) attest(g *group, old, now string) {
	if old == now {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attested.remove(old, g)
	if now != "" {
		b.attested.add(now, g)
	}
}

// enter and leave keep in which groups a key is a member.
func (b *Book) enter(key string, g *group) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members.add(key, g)
}

func (b *Book) leave(g *group, keys ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range keys {
		b.members.remove(key, g)
	}
}
