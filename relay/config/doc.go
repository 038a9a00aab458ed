// Package config is the relay's configuration: one typed struct, read from a
// TOML file, the environment and flags, in that order, the last one winning.
//
// Reading is strict. An unknown key, a wrong type, an unknown FENCEPOST_
// variable and a value that breaks a rule are problems, and all of them are
// reported at once, each with its key. What Load returns without an error is
// valid; nothing is corrected silently.
//
// Every key is one row of the table in keys.go, which holds its meaning, its
// rule and when a change of it takes effect; printing, the environment and the
// comparison at a reload all come from that table. Defaults stand in default.go
// and are valid by themselves, so that a relay runs without any file.
//
// The environment names a key FENCEPOST_<SECTION>_<KEY> in upper case, for
// example FENCEPOST_SUBSCRIPTIONS_MAX or FENCEPOST_LISTEN; lists are separated
// by commas. FENCEPOST_CONFIG and FENCEPOST_TEST_* are left to others.
//
// A limit of 0 is off wherever the relay stays safe without it; see Bound. The
// limits of the outbound queue and whatever else bounds memory cannot be off,
// but can be raised. A store.cache of 0 is chosen by the machine: Store.CacheSize,
// and WriteTOML to show it, then read /proc and /sys.
//
// A Config is a value. Its lists are never changed after Load, so copies may be
// shared by goroutines. Nothing here blocks, except for reading files.
package config
