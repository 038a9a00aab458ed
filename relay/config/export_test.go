package config

// Parse is Load with the file's content at hand.
func Parse(data string, env ...string) (Config, error) {
	return load("test.toml", []byte(data), env, nil)
}

// Env maps every key to its variable.
func Env() map[string]string {
	m := make(map[string]string, len(keys))
	for _, k := range keys {
		m[k.name] = k.env()
	}
	return m
}

// Literal shows how WriteTOML prints the value behind the pointer.
func Literal(field any) string { return literal(field) }

// UsableMemory and CacheFor are what CacheSize rests on.
var (
	UsableMemory = usableMemory
	CacheFor     = cacheFor
)

// Set reads a TOML value into the field behind the pointer.
func Set(field, raw any) error { return set(field, raw) }
